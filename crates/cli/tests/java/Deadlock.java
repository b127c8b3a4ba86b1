/**
 * Two threads, each of which has a monitor that the other wants: they wait for each other since
 * before the first line.
 */
public class Deadlock {
    static final class Stock {}

    static final class Cart {}

    public static void main(String[] args) throws Exception {
        Stock stock = new Stock();
        Cart cart = new Cart();
        start("packer", stock, cart);
        start("buyer", cart, stock);
        Thread.sleep(1000);
        System.out.println("ready");
        Thread.sleep(Long.parseLong(args[0]) * 1000);
    }

    static void start(String name, Object first, Object second) {
        Thread thread = new Thread(() -> {
            synchronized (first) {
                nap(300);
                synchronized (second) {
                    nap(1);
                }
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }

    static void nap(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
