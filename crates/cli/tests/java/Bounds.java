import java.lang.ref.SoftReference;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;

/** Collections with a bound, each said in another way, and collections without one. */
public class Bounds {
  static final class Item {
    final byte[] load;

    Item(int bytes) {
      load = new byte[bytes];
    }
  }

  /** The oldest is written over. */
  static final class Ring {
    final Item[] items = new Item[6000];
    int next;

    void add(Item item) {
      items[next] = item;
      next = (next + 1) % items.length;
    }
  }

  /** The oldest goes: the bound has a name that numbers of other kinds have as well. */
  static final class Recent {
    final Map<Integer, Item> map = new HashMap<>();
    final ArrayDeque<Integer> order = new ArrayDeque<>();
    final int size = 5000;

    void put(int key, Item item) {
      if (map.size() == size) {
        map.remove(order.poll());
      }
      map.put(key, item);
      order.add(key);
    }
  }

  static final class Capped {
    final Map<Integer, Item> map = new HashMap<>();
    final int cap;

    Capped(int cap) {
      this.cap = cap;
    }
  }

  /** Counts what it has, and grows. */
  static final class Growing {
    Item[] table = new Item[16];
    int size;

    void add(Item item) {
      if (size == table.length) {
        table = Arrays.copyOf(table, 2 * size);
      }
      table[size++] = item;
    }
  }

  /** Counts what it ever took. */
  static final class Sessions {
    final Map<Integer, Item> open = new HashMap<>();
    int opened;
  }

  static Object held;
  static final List<String> ALSO = new ArrayList<>();

  public static void main(String[] args) throws Exception {
    switch (args[0]) {
      case "array-queue":
        ArrayBlockingQueue<Item> queue = new ArrayBlockingQueue<>(6000);
        held = queue;
        for (int i = 0; i < 5500; i++) {
          queue.add(new Item(800));
        }
        break;
      case "ring":
        Ring ring = new Ring();
        held = ring;
        for (int i = 0; i < 8123; i++) {
          ring.add(new Item(800));
        }
        break;
      case "recent":
        Recent recent = new Recent();
        held = recent;
        for (int i = 0; i < 7777; i++) {
          recent.put(i, new Item(800));
        }
        break;
      case "capped":
        Capped capped = new Capped(7000);
        held = capped;
        for (int i = 0; i < 4000; i++) {
          capped.map.put(i, new Item(800));
        }
        break;
      case "soft":
        Map<Integer, SoftReference<Item>> soft = new HashMap<>();
        held = soft;
        for (int i = 0; i < 5000; i++) {
          soft.put(i, new SoftReference<>(new Item(2000)));
        }
        break;
      case "soft-whole":
        Map<Integer, Item> whole = new HashMap<>();
        held = new SoftReference<>(whole);
        for (int i = 0; i < 5000; i++) {
          whole.put(i, new Item(2000));
        }
        break;
      case "growing":
        Growing growing = new Growing();
        held = growing;
        for (int i = 0; i < 6000; i++) {
          growing.add(new Item(800));
        }
        break;
      case "copied":
        CopyOnWriteArrayList<Item> copied = new CopyOnWriteArrayList<>();
        held = copied;
        for (int i = 0; i < 3000; i++) {
          copied.add(new Item(1600));
        }
        break;
      case "texts":
        // Texts of a set, some of which a list has as well.
        Set<String> texts = new HashSet<>();
        for (int i = 0; i < 20_001; i++) {
          String text = "text-" + i;
          texts.add(text);
          if (i % 100 == 0) {
            ALSO.add(text);
          }
        }
        held = texts;
        break;
      case "opened":
        Sessions sessions = new Sessions();
        held = sessions;
        for (int i = 0; i < 6000; i++) {
          sessions.open.put(i, new Item(800));
          sessions.opened++;
        }
        break;
      default:
        throw new IllegalArgumentException(args[0]);
    }
    System.out.println("ready");
    while (System.in.read() >= 0) {}
    System.exit(0);
  }
}
