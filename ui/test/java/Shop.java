import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

/**
 * A shop whose heap has a bit of everything, to be dumped: sessions that nobody ends, a catalogue
 * that was loaded once, a cache that evicts, a backlog that only a thread's stack holds, buffers in
 * thread locals. {@code java Shop SESSIONS TOKEN} says "ready" and waits for the end of its input.
 * A session is 12 objects; a million of them make a heap of 12 million.
 */
public class Shop {
  /** What a customer is about to buy. */
  static final class Item {
    final int product;
    final int pieces;

    Item(int product, int pieces) {
      this.product = product;
      this.pieces = pieces;
    }
  }

  static final class Session {
    final String user;
    final String token;
    final List<Item> basket = new ArrayList<>(4);

    Session(int i, String token) {
      user = "user-" + i;
      this.token = token + i;
      basket.add(new Item(i, 1));
      basket.add(new Item(i + 1, 2));
    }
  }

  /** Nobody takes anything out of it. */
  static final Map<String, Session> SESSIONS = new ConcurrentHashMap<>();

  static final class Product {
    final String name;
    final double[] prices = new double[12];

    Product(int i) {
      name = "product-" + i;
    }
  }

  static final class Catalogue {
    final Map<Integer, Product> byNumber = new HashMap<>();
  }

  static final Catalogue CATALOGUE = new Catalogue();

  /** Pages that were made lately. */
  static final class Pages extends LinkedHashMap<Integer, byte[]> {
    final int maxPages = 3000;

    Pages() {
      super(16, 0.75f, true);
    }

    @Override
    protected boolean removeEldestEntry(Map.Entry<Integer, byte[]> eldest) {
      return size() > maxPages;
    }
  }

  static final Pages PAGES = new Pages();

  static final class Order {
    final long number;
    final int[] lines = new int[40];
    Order before;

    Order(long number, Order before) {
      this.number = number;
      this.before = before;
    }
  }

  static final ThreadLocal<byte[][]> BUFFERS = new ThreadLocal<>();

  public static void main(String[] args) throws Exception {
    int sessions = Integer.parseInt(args[0]);
    CountDownLatch all = new CountDownLatch(7);
    Thread writer = new Thread(() -> backlog(all), "order-writer");
    writer.setDaemon(true);
    writer.start();
    for (int i = 0; i < 6; i++) {
      Thread http = new Thread(() -> serve(all), "http-" + i);
      http.setDaemon(true);
      http.start();
    }
    for (int i = 0; i < 12_000; i++) {
      CATALOGUE.byNumber.put(i, new Product(i));
      PAGES.put(i, new byte[700]);
    }
    for (int i = 0; i < sessions; i++) {
      SESSIONS.put("session-" + i, new Session(i, args[1]));
    }
    all.await();
    System.out.println("ready");
    while (System.in.read() >= 0) {}
    System.exit(0);
  }

  /** Orders in a queue that is a local variable, and in a list whose nodes keep one another. */
  private static void backlog(CountDownLatch all) {
    ArrayDeque<Order> queue = new ArrayDeque<>();
    Order last = null;
    for (int i = 0; i < 6_000; i++) {
      queue.add(new Order(i, null));
      last = new Order(i, last);
    }
    hold(all);
    System.out.println(queue.size() + last.number);
  }

  private static void serve(CountDownLatch all) {
    BUFFERS.set(new byte[6][32 << 10]);
    hold(all);
  }

  private static void hold(CountDownLatch all) {
    all.countDown();
    try {
      new CountDownLatch(1).await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
