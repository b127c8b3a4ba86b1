/** Two threads that burn a CPU, one between them where they are given only one. */
public class Pinned {
    static volatile long sum;
    public static void main(String[] args) throws Exception {
        for (String name : new String[] {"burner-one", "burner-two"}) {
            Thread thread = new Thread(() -> { for (;;) sum += 1; }, name);
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("ready");
        Thread.sleep(120_000);
    }
}
