/** No fault: demand comes in bursts, for half a second in each two. */
public final class Bursts implements Fault {
    @Override public void prepare(int workers) {
        Faults.daemon("demand", () -> {
            while (true) {
                Service.thinkFactor = 0.5;
                Thread.sleep(500);
                Service.thinkFactor = 2;
                Thread.sleep(1500);
            }
        });
    }
}
