import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Holds on to more and more, or not, in steps of about 4 MB, while another thread allocates
 * what nobody keeps for long, so that the old generation fills again and again. A number
 * takes as many steps.
 */
public class Growing {
  static final class Session {
    final byte[] state = new byte[400];
    final int number;

    Session(int number) {
      this.number = number;
    }
  }

  /** Sessions that nobody ends. */
  static final class Sessions {
    static final Map<Integer, Session> OPEN = new ConcurrentHashMap<>();
  }

  /** A cache that grows with what is asked of it. */
  static final class Pages {
    final Map<Integer, byte[]> rendered = new HashMap<>();

    byte[] page(int number) {
      return rendered.computeIfAbsent(number, n -> render());
    }

    static byte[] render() {
      return new byte[2_000];
    }
  }

  static final Pages PAGES = new Pages();

  /** A cache that evicts. */
  static final class Recent extends LinkedHashMap<Integer, Session> {
    @Override
    protected boolean removeEldestEntry(Map.Entry<Integer, Session> eldest) {
      return size() > 100_000;
    }
  }

  static final Recent RECENT = new Recent();

  static final class View {
    final int[] pixels = new int[500];
  }

  static final class Bus {
    final List<View> listeners = new ArrayList<>();
  }

  static final Bus BUS = new Bus();
  static final ThreadLocal<List<byte[]>> SCRATCH = ThreadLocal.withInitial(ArrayList::new);
  static final List<Object> KEPT = new ArrayList<>();
  static final List<ByteBuffer> BUFFERS = new ArrayList<>();
  static final ExecutorService POOL = Executors.newFixedThreadPool(4);
  static final CyclicBarrier ALL = new CyclicBarrier(4);

  static final class Finished {
    final byte[] load = new byte[4096];

    @Override
    protected void finalize() throws Throwable {
      new CountDownLatch(1).await();
    }
  }

  /** Defines the plug-in anew. */
  static final class PluginLoader extends ClassLoader {
    final byte[] code;

    PluginLoader(byte[] code) {
      super(null);
      this.code = code;
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      if (!name.equals("GrowingPlugin")) {
        throw new ClassNotFoundException(name);
      }
      return defineClass(name, code, 0, code.length);
    }
  }

  /** Whether steps are taken: otherwise nothing is allocated. */
  static volatile boolean growing;

  static byte[] code;
  static int next;

  static void open(int sessions) {
    for (int i = 0; i < sessions; i++) {
      Sessions.OPEN.put(next, new Session(next++));
    }
  }

  static void listen() {
    for (int i = 0; i < 2_000; i++) {
      BUS.listeners.add(new View());
    }
  }

  static void remember() {
    for (int i = 0; i < 32; i++) {
      SCRATCH.get().add(new byte[32 << 10]);
    }
  }

  static void deploy() throws Exception {
    for (int i = 0; i < 20; i++) {
      Class<?> loaded = new PluginLoader(code).loadClass("GrowingPlugin");
      Class.forName("GrowingPlugin", true, loaded.getClassLoader());
      KEPT.add(loaded);
    }
  }

  static void finish() {
    for (int i = 0; i < 1_000; i++) {
      new Finished();
    }
  }

  static void step(String how) throws Exception {
    switch (how) {
      case "map":
        open(8_000);
        break;
      case "cache":
        for (int i = 0; i < 2_000; i++) {
          PAGES.page(next++);
        }
        break;
      case "listeners":
        listen();
        break;
      case "thread-local":
        CountDownLatch done = new CountDownLatch(4);
        for (int i = 0; i < 4; i++) {
          POOL.submit(
              () -> {
                // Each thread of the pool takes one task of a step.
                ALL.await();
                remember();
                done.countDown();
                return null;
              });
        }
        done.await();
        break;
      case "loaders":
        deploy();
        break;
      case "finalizers":
        finish();
        break;
      case "direct":
        BUFFERS.add(ByteBuffer.allocateDirect(2 << 20));
        break;
      case "bounded":
        for (int left = next == 0 ? 120_000 : 5_000; left > 0; left--) {
          RECENT.put(next, new Session(next++));
        }
        break;
      case "loaded-once":
        if (next == 0) {
          open(150_000);
        }
        break;
      default:
        throw new IllegalArgumentException(how);
    }
    Thread.sleep(150);
  }

  public static void main(String[] args) throws Exception {
    Path plugin = Paths.get(args[1], "GrowingPlugin.class");
    code = Files.readAllBytes(plugin);
    Thread churn = new Thread(new GrowingGarbage(), "churn");
    churn.setDaemon(true);
    churn.start();
    System.out.println("ready");
    Scanner lines = new Scanner(System.in);
    int taken = 0;
    for (String line = lines.nextLine(); !line.equals("end"); line = lines.nextLine()) {
      growing = true;
      for (int steps = Integer.parseInt(line); steps > 0; steps--) {
        step(args[0]);
        taken++;
      }
      growing = false;
      System.out.println("took " + taken);
    }
    System.exit(0);
  }
}

/** Allocates what nobody keeps for long, but for long enough to get old. */
class GrowingGarbage implements Runnable {
  static final byte[][] LAST = new byte[8_000][];
  static int next;

  static void throwAway() {
    for (int i = 0; i < 600; i++) {
      LAST[next++ % LAST.length] = new byte[2_000];
    }
  }

  @Override
  public void run() {
    while (true) {
      if (Growing.growing) {
        throwAway();
      }
      try {
        Thread.sleep(2);
      } catch (InterruptedException e) {
        return;
      }
    }
  }
}

/** What a plug-in keeps in a static field. */
class GrowingPlugin {
  static final byte[] TABLES = new byte[200_000];

  public GrowingPlugin() {}
}
