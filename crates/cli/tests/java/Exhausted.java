import java.util.HashMap;
import java.util.Map;

/** Fills the heap up to an OutOfMemoryError, in a map that a static field and a method hold. */
public class Exhausted {
  static final Map<Integer, long[]> ORDERS = new HashMap<>();

  static void take(Map<Integer, long[]> orders) {
    for (int i = 0; ; i++) {
      orders.put(i, new long[100]);
    }
  }

  /** The same where only a method holds it. */
  static void collect() {
    take(new HashMap<>());
  }

  public static void main(String[] args) {
    if (args[0].equals("static")) {
      Map<Integer, long[]> orders = ORDERS;
      take(orders);
    } else {
      collect();
    }
  }
}
