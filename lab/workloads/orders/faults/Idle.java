/** No fault: very little is asked for, all the time. */
public final class Idle implements Fault {
    @Override public void prepare(int workers) {
        Service.thinkFactor = 100;
    }
}
