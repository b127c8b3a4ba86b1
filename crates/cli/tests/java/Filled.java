import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Fills so many megabytes with objects of several classes, large arrays and garbage, and
 * is quiet from then on.
 */
public class Filled {
  static final class Order {
    final long id;
    final String text;
    final List<Integer> lines = new ArrayList<>();

    Order(long id) {
      this.id = id;
      text = "order " + id;
      for (int i = 0; i < id % 7; i++) {
        lines.add(1_000 + i);
      }
    }
  }

  static final Map<Long, Order> ORDERS = new HashMap<>();
  static final List<Object> ARRAYS = new ArrayList<>();
  static Object garbage;

  public static void main(String[] args) throws Exception {
    long megabytes = Long.parseLong(args[0]);
    for (long id = 0; id < megabytes * 2_200; id++) {
      ORDERS.put(id, new Order(id));
      garbage = new char[(int) (id % 90)];
      if (id % 20_000 == 0) {
        ARRAYS.add(new long[200_000]);
        ARRAYS.add(new Object[1_000]);
      }
    }
    System.out.println("ready");
    while (System.in.read() >= 0) {}
    System.exit(0);
  }
}
