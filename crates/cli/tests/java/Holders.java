import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Holds memory in one of the ways in which programs do, and waits to be dumped. */
public class Holders {
  // In the constant pool, and so among the symbols of the JVM.
  static final String LITERAL = "literal-of-the-program";

  static final class Session {
    final byte[] state = new byte[160];
    final String user;

    Session(int i) {
      user = "user-" + i;
    }
  }

  interface Listener {
    void changed();
  }

  /** Sessions that nobody ends. */
  static final class Sessions {
    static final Map<String, Session> OPEN = new ConcurrentHashMap<>();
  }

  /** A cache that grows with what is asked of it. */
  static final class Pages {
    final Map<Integer, byte[]> rendered = new java.util.HashMap<>();
  }

  static final Pages PAGES = new Pages();

  /** A cache that evicts. */
  static final class Recent extends LinkedHashMap<Integer, Session> {
    final int maxEntries;

    Recent(int maxEntries) {
      super(16, 0.75f, true);
      this.maxEntries = maxEntries;
    }

    @Override
    protected boolean removeEldestEntry(Map.Entry<Integer, Session> eldest) {
      return size() > maxEntries;
    }
  }

  static final Recent RECENT = new Recent(20_000);

  /** The same as threads share it. */
  static final Map<Integer, Session> SHARED = java.util.Collections.synchronizedMap(new Recent(20_000));

  /** Work that nobody does; the nodes of such a queue keep one another. */
  static final java.util.concurrent.LinkedBlockingQueue<Session> WORK =
      new java.util.concurrent.LinkedBlockingQueue<>();

  static final java.util.concurrent.LinkedBlockingQueue<Session> LIMITED =
      new java.util.concurrent.LinkedBlockingQueue<>(30_000);

  static final class Bus {
    final List<Listener> listeners = new ArrayList<>();
  }

  static final Bus BUS = new Bus();

  static final class View implements Listener {
    final int[] pixels = new int[200];

    @Override
    public void changed() {}
  }

  static final ThreadLocal<List<byte[]>> SCRATCH = ThreadLocal.withInitial(ArrayList::new);
  static final List<Object> KEPT = new ArrayList<>();

  static final class Finished {
    final byte[] load = new byte[4096];

    @Override
    protected void finalize() throws Throwable {
      new CountDownLatch(1).await();
    }
  }

  /** Defines the class Plugin anew. */
  static final class PluginLoader extends ClassLoader {
    final byte[] code;

    PluginLoader(byte[] code) {
      super(null);
      this.code = code;
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      if (!name.equals("HoldersPlugin")) {
        throw new ClassNotFoundException(name);
      }
      return defineClass(name, code, 0, code.length);
    }
  }

  public static void main(String[] args) throws Exception {
    switch (args[0]) {
      case "static-map":
        for (int i = 0; i < 60_000; i++) {
          Sessions.OPEN.put("session-" + i, new Session(i));
        }
        break;
      case "cache":
        for (int i = 0; i < 20_000; i++) {
          PAGES.rendered.put(i, new byte[600]);
        }
        break;
      case "queue":
        for (int i = 0; i < 50_000; i++) {
          WORK.add(new Session(i));
        }
        break;
      case "bounded-queue":
        for (int i = 0; i < 29_000; i++) {
          LIMITED.add(new Session(i));
        }
        break;
      case "bounded":
        for (int i = 0; i < 90_000; i++) {
          RECENT.put(i, new Session(i));
        }
        break;
      case "bounded-view":
        for (int i = 0; i < 90_000; i++) {
          SHARED.put(i, new Session(i));
        }
        break;
      case "listeners":
        for (int i = 0; i < 15_000; i++) {
          BUS.listeners.add(new View());
        }
        break;
      case "thread-local":
        ExecutorService pool = Executors.newFixedThreadPool(8);
        CountDownLatch all = new CountDownLatch(8);
        for (int i = 0; i < 8; i++) {
          pool.submit(
              () -> {
                for (int j = 0; j < 40; j++) {
                  SCRATCH.get().add(new byte[32 << 10]);
                }
                all.countDown();
                all.await();
                return null;
              });
        }
        all.await();
        break;
      case "loaders":
        Path plugin = Paths.get(args[1], "HoldersPlugin.class");
        byte[] code = Files.readAllBytes(plugin);
        for (int i = 0; i < 30; i++) {
          Class<?> loaded = new PluginLoader(code).loadClass("HoldersPlugin");
          Class.forName("HoldersPlugin", true, loaded.getClassLoader());
          KEPT.add(loaded);
        }
        break;
      case "direct":
        for (int i = 0; i < 20; i++) {
          KEPT.add(ByteBuffer.allocateDirect(1 << 20));
          KEPT.add(((ByteBuffer) KEPT.get(KEPT.size() - 1)).slice());
        }
        break;
      case "finalizers":
        for (int i = 0; i < 3_000; i++) {
          new Finished();
        }
        System.gc();
        Thread.sleep(500);
        break;
      case "healthy":
        KEPT.add(new WeakReference<>(new Object()));
        break;
      default:
        throw new IllegalArgumentException(args[0]);
    }
    System.out.println("ready");
    while (System.in.read() >= 0) {}
    System.exit(0);
  }
}

/** What a plug-in keeps in a static field. */
class HoldersPlugin {
  static final byte[] TABLES = new byte[200_000];

  public HoldersPlugin() {}
}
