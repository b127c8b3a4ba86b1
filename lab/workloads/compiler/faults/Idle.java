/** No fault: the clients ask for very little. */
public final class Idle implements Fault {}
