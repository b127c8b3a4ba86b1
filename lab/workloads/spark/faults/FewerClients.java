/** No fault: all threads but one ask for nothing. */
public final class FewerClients implements Fault {}
