import java.util.ArrayList;
import java.util.List;

/**
 * Keeps some megabytes of objects in the young generation. Each line that it reads has it make them
 * anew, or more of them.
 */
public class Young {
  static final class Item {
    long first;
    long second;
  }

  static final List<Item> ITEMS = new ArrayList<>();

  static void make(int count) {
    for (int i = 0; i < count; i++) {
      ITEMS.add(new Item());
    }
  }

  public static void main(String[] args) throws Exception {
    make(200_000);
    System.out.println("ready");
    for (int line = System.in.read(); line >= 0; line = System.in.read()) {
      if (line == 'n') {
        ITEMS.clear();
        make(200_000);
        System.out.println("done");
      } else if (line == 'm') {
        make(1_000);
        System.out.println("done");
      }
    }
    System.exit(0);
  }
}
