package org.fathom.calls;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/**
 * Gives the boot loader the class that woven methods call and those that it uses,
 * then begins the session.
 *
 * <p>Not by {@code appendToBootstrapClassLoaderSearch}: from then on HotSpot takes no class of the
 * application from its shared archive (it warns of that), and keeps the jar open. They are defined
 * by {@code Unsafe} instead, of the JDK itself from 9 on, whose package is exported to the unnamed
 * module of this class's own loader, and to nobody else.
 */
public final class Boot {
  private Boot() {}

  /** Called by {@link Agent}. */
  public static void begin(Path folder, Instrumentation instrumentation, URLClassLoader loader) throws Exception {
    if (!isThere()) {
      defineAll(folder, definer(instrumentation));
    }
    Session.begin(folder, instrumentation, loader);
  }

  /** Whether an earlier session has done it. */
  private static boolean isThere() {
    try {
      Class.forName("org.fathom.calls.Calls", false, null);
      return true;
    } catch (ClassNotFoundException first) {
      return false;
    }
  }

  private interface Definer {
    void define(byte[] bytes) throws ReflectiveOperationException;
  }

  private static void defineAll(Path folder, Definer definer) throws IOException, ReflectiveOperationException {
    List<byte[]> classes = new ArrayList<>();
    try (JarFile jar = new JarFile(folder.resolve("fathom-calls.jar").toFile())) {
      for (JarEntry entry : Collections.list(jar.entries())) {
        if (entry.getName().matches("org/fathom/calls/(Calls|Times|Walker)(\\$.*)?\\.class")) {
          classes.add(read(jar.getInputStream(entry)));
        }
      }
    }
    // A superclass comes before those that extend it: what fails is tried again behind the others.
    for (int left = classes.size(); left > 0; left--) {
      List<byte[]> failed = new ArrayList<>();
      for (byte[] bytes : classes) {
        try {
          definer.define(bytes);
        } catch (ReflectiveOperationException notYet) {
          if (left == 1) {
            throw notYet;
          }
          failed.add(bytes);
        }
      }
      classes = failed;
    }
  }

  private static byte[] read(InputStream in) throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    byte[] buffer = new byte[1 << 14];
    try (InputStream toClose = in) {
      for (int n = in.read(buffer); n > 0; n = in.read(buffer)) {
        all.write(buffer, 0, n);
      }
    }
    return all.toByteArray();
  }

  private static Definer definer(Instrumentation instrumentation) throws ReflectiveOperationException {
    Class<?> type;
    Object unsafe;
    try {
      Class<?> module = Class.forName("java.lang.Module");
      Method getModule = Class.class.getMethod("getModule");
      Map<String, Set<?>> exports = Collections.singletonMap("jdk.internal.misc", Collections.singleton(getModule.invoke(Boot.class)));
      Instrumentation.class
          .getMethod("redefineModule", module, Set.class, Map.class, Map.class, Set.class, Map.class)
          .invoke(
              instrumentation,
              getModule.invoke(Object.class),
              Collections.emptySet(),
              exports,
              Collections.emptyMap(),
              Collections.emptySet(),
              Collections.emptyMap());
      type = Class.forName("jdk.internal.misc.Unsafe");
      unsafe = type.getMethod("getUnsafe").invoke(null);
    } catch (ClassNotFoundException before9) {
      type = Class.forName("sun.misc.Unsafe");
      Field field = type.getDeclaredField("theUnsafe");
      field.setAccessible(true);
      unsafe = field.get(null);
    }
    Method define =
        type.getMethod("defineClass", String.class, byte[].class, int.class, int.class, ClassLoader.class, ProtectionDomain.class);
    Object of = unsafe;
    return bytes -> define.invoke(of, null, bytes, 0, bytes.length, null, null);
  }
}
