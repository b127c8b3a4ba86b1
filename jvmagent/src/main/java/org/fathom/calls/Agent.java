package org.fathom.calls;

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/**
 * Where {@code fathom method --way agent} comes into a JVM. Its one argument is the folder that
 * fathom has made: the jar, what is asked for, and two pipes.
 *
 * <pre>
 *   system loader    Agent                  this class; stays loaded, as a JVM unloads none of that loader
 *   boot loader      Calls, Times, Walker   what woven methods call; stays loaded for the same reason
 *   own loader       Session, Weaver, …     and ASM: unloaded when the session is over
 * </pre>
 *
 * It does as little as it can: a later fathom with another jar meets the class of the first.
 */
public final class Agent {
  private Agent() {}

  /** The JVM calls this for each attach. */
  public static void agentmain(String folder, Instrumentation instrumentation) throws IOException {
    Path place = Paths.get(folder);
    URL jar = place.resolve("fathom-calls.jar").toUri().toURL();
    URLClassLoader loader = new URLClassLoader(new URL[] {jar}, null);
    try {
      Class<?> boot = loader.loadClass("org.fathom.calls.Boot");
      Method begin = boot.getMethod("begin", Path.class, Instrumentation.class, URLClassLoader.class);
      begin.invoke(null, place, instrumentation, loader);
    } catch (ReflectiveOperationException | RuntimeException | LinkageError failed) {
      loader.close();
      // Thrown, it would be printed on the program's standard error, and nobody else would know.
      Throwable cause = failed;
      while (cause.getCause() != null) {
        cause = cause.getCause();
      }
      Files.write(place.resolve("failed"), cause.toString().getBytes(StandardCharsets.UTF_8));
    }
  }
}
