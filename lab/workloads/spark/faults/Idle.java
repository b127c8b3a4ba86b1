/** No fault: the threads ask for very little. */
public final class Idle implements Fault {}
