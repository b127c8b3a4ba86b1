import java.lang.reflect.Constructor;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Keeps the loaders of plug-ins that were deployed again and again, in one of several ways. */
public class Loaders {
  static final class PluginLoader extends ClassLoader {
    final byte[] code;

    PluginLoader(byte[] code) {
      super(PluginLoader.class.getClassLoader());
      this.code = code;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      synchronized (getClassLoadingLock(name)) {
        Class<?> known = findLoadedClass(name);
        if (known != null) {
          return known;
        }
        return name.equals("LoadersPlugin")
            ? defineClass(name, code, 0, code.length)
            : super.loadClass(name, resolve);
      }
    }
  }

  /** What the application has of a plug-in. */
  static final class Deployed {
    final String name;
    final Runnable plugin;

    Deployed(String name, Runnable plugin) {
      this.name = name;
      this.plugin = plugin;
    }
  }

  static final List<Object> KEPT = new ArrayList<>();

  public static void main(String[] args) throws Exception {
    byte[] code = Files.readAllBytes(Paths.get(args[1], "LoadersPlugin.class"));
    int deployed = args[0].endsWith("-few") ? 5 : 30;
    for (int i = 0; i < deployed; i++) {
      ClassLoader loader = new PluginLoader(code);
      Class<?> loaded = Class.forName("LoadersPlugin", true, loader);
      Constructor<?> constructor = loaded.getDeclaredConstructor();
      constructor.setAccessible(true);
      Runnable plugin = (Runnable) constructor.newInstance();
      switch (args[0].replace("-few", "")) {
        case "instances":
          KEPT.add(plugin);
          break;
        case "wrappers":
          KEPT.add(new Deployed("plugin-" + i, plugin));
          break;
        case "threads":
          Thread thread = new Thread(plugin, "plugin-" + i);
          thread.setContextClassLoader(loader);
          thread.setDaemon(true);
          thread.start();
          break;
        default:
          throw new IllegalArgumentException(args[0]);
      }
    }
    System.out.println("ready");
    while (System.in.read() >= 0) {}
    System.exit(0);
  }
}

/** What a plug-in keeps in a static field. */
class LoadersPlugin implements Runnable {
  static final byte[][] TABLES = new byte[200][];

  static {
    for (int i = 0; i < TABLES.length; i++) {
      TABLES[i] = new byte[2000];
    }
  }

  public LoadersPlugin() {}

  @Override
  public void run() {
    try {
      new CountDownLatch(1).await();
    } catch (InterruptedException ended) {
      Thread.currentThread().interrupt();
    }
  }
}
