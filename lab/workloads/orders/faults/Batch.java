/** No fault: operations of some 40 ms of computing, as a batch has, all the time. */
public final class Batch implements Fault {
    private volatile double total;

    @Override public void duringOperation(int worker, boolean active) {
        double sum = 0;
        for (int i = 1; i < 600_000; i++) sum += Math.log(i);
        total = sum;
    }
}
