/** No fault: half of the clients ask for nothing. */
public final class FewerClients implements Fault {}
