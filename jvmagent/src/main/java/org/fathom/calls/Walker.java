package org.fathom.calls;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Walks the stack of its thread: with {@code StackWalker} where there is one (JDK 9 on), which
 * stops at what was asked for.
 */
class Walker {
  /** Frames of these classes are our own. */
  static final String OURS = "org.fathom.calls.";

  static Walker of() {
    try {
      return new Lazy();
    } catch (ReflectiveOperationException before9) {
      return new Walker();
    }
  }

  /** Who called the woven method; null: the JVM itself, or not known. */
  String caller() {
    StackTraceElement[] all = new Throwable().getStackTrace();
    int at = 0;
    while (at < all.length && all[at].getClassName().startsWith(OURS)) {
      at++;
    }
    return at + 1 < all.length ? name(all[at + 1]) : null;
  }

  /** The woven method and its callers, innermost first. */
  List<String> stack(int most) {
    List<String> names = new ArrayList<>();
    for (StackTraceElement frame : new Throwable().getStackTrace()) {
      if (names.size() < most && !frame.getClassName().startsWith(OURS)) {
        names.add(name(frame));
      }
    }
    return names;
  }

  static String name(StackTraceElement frame) {
    String name = frame.getClassName() + "." + frame.getMethodName();
    return frame.getLineNumber() > 0 ? name + ":" + frame.getLineNumber() : name;
  }

  /** By {@code StackWalker}, whose names a class for Java 8 cannot use. */
  private static final class Lazy extends Walker {
    private final MethodHandle walk, element;

    Lazy() throws ReflectiveOperationException {
      Class<?> type = Class.forName("java.lang.StackWalker"), frame = Class.forName("java.lang.StackWalker$StackFrame");
      MethodHandles.Lookup lookup = MethodHandles.publicLookup();
      Object walker;
      try {
        walker = lookup.findStatic(type, "getInstance", MethodType.methodType(type)).invoke();
      } catch (Throwable failed) {
        throw new ReflectiveOperationException(failed);
      }
      walk =
          lookup
              .findVirtual(type, "walk", MethodType.methodType(Object.class, Function.class))
              .bindTo(walker)
              .asType(MethodType.methodType(Object.class, Function.class));
      element =
          lookup
              .findVirtual(frame, "toStackTraceElement", MethodType.methodType(StackTraceElement.class))
              .asType(MethodType.methodType(StackTraceElement.class, Object.class));
    }

    @Override
    String caller() {
      List<String> two = take(2);
      return two.size() == 2 ? two.get(1) : null;
    }

    @Override
    List<String> stack(int most) {
      return take(most);
    }

    private List<String> take(int most) {
      List<String> names = new ArrayList<>(most);
      Function<Stream<Object>, Object> taking =
          new Function<Stream<Object>, Object>() {
        @Override
        public Object apply(Stream<Object> frames) {
          try {
            for (Iterator<Object> each = frames.iterator(); names.size() < most && each.hasNext(); ) {
              StackTraceElement frame = (StackTraceElement) element.invokeExact(each.next());
              if (!frame.getClassName().startsWith(OURS)) {
                names.add(name(frame));
              }
            }
          } catch (Throwable failed) {
            names.clear();
          }
          return null;
        }
      };
      try {
        Object none = (Object) walk.invokeExact(taking);
      } catch (Throwable failed) {
        names.clear();
      }
      return names;
    }
  }
}
