import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that stand still, each in a known chain of calls: interpreted, compiled, inlined,
 * recursive, through lambdas, method handles and reflection. Argument: milliseconds of warming up.
 */
public class Known {
  /** What a chain ends in. Many classes of it, so that no compiler inlines the call. */
  interface Gate {
    void pass();
  }

  static final class Open1 implements Gate {
    public void pass() {}
  }

  static final class Open2 implements Gate {
    public void pass() {}
  }

  static final class Open3 implements Gate {
    public void pass() {}
  }

  static final CountDownLatch standing = new CountDownLatch(10);

  static final class Closed implements Gate {
    public void pass() {
      standing.countDown();
      while (true) {
        LockSupport.park();
      }
    }
  }

  static final class Asleep implements Gate {
    public void pass() {
      standing.countDown();
      try {
        Thread.sleep(600_000);
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  static final class Waiting implements Gate {
    public synchronized void pass() {
      standing.countDown();
      while (true) {
        try {
          wait();
        } catch (InterruptedException e) {
          throw new IllegalStateException(e);
        }
      }
    }
  }

  static int sum;

  static void outer(Gate gate, int n) {
    sum += n;
    middle(gate, n + 1);
    sum -= n;
  }

  private static void middle(Gate gate, int n) {
    if (n % 2 == 0) {
      inner(gate, n);
    } else {
      inner(gate, n + 2);
    }
    sum++;
  }

  private static void inner(Gate gate, int n) {
    sum ^= n;
    gate.pass();
    sum ^= n;
  }

  static int recurse(Gate gate, int depth) {
    if (depth == 0) {
      gate.pass();
      return 1;
    }
    return recurse(gate, depth - 1) + 1;
  }

  static final MethodHandle HANDLE;

  static {
    try {
      HANDLE =
          MethodHandles.lookup()
              .findStatic(
                  Known.class, "byHandle", MethodType.methodType(void.class, Gate.class, int.class));
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  static void byHandle(Gate gate, int n) {
    outer(gate, n);
  }

  public static void byReflection(Gate gate) throws Throwable {
    HANDLE.invokeExact(gate, 1);
  }

  /**
   * Has one subclass until the end: compilers rely on that, and must give their code up
   * when another is loaded.
   */
  abstract static class Shape {
    abstract int area(Gate gate);
  }

  static final class Square extends Shape {
    int area(Gate gate) {
      gate.pass();
      return 1;
    }
  }

  static final class Circle extends Shape {
    int area(Gate gate) {
      return 3;
    }
  }

  static int measure(Shape shape, Gate gate) {
    int area = shape.area(gate);
    return area + sum;
  }

  static void stand(String name, Runnable chain) {
    Thread thread = new Thread(chain, name);
    thread.setDaemon(true);
    thread.start();
  }

  public static void main(String[] args) throws Exception {
    Gate[] open = {new Open1(), new Open2(), new Open3()};
    Shape square = new Square();
    // Chains that no compiler has seen.
    stand("cold-sleep", () -> outer(new Asleep(), 1));
    stand("cold-wait", () -> new Waiting().pass());
    long until = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
    int i = 0;
    do {
      for (int k = 0; k < 1000; k++) {
        outer(open[i++ % 3], i);
        recurse(open[i % 3], 5);
        measure(square, open[i % 3]);
      }
    } while (System.nanoTime() < until);
    stand("warm-park", () -> outer(new Closed(), 2));
    stand("warm-sleep", () -> outer(new Asleep(), 3));
    stand("Übergröße ☃", () -> outer(new Waiting(), 4));
    stand("recursion", () -> recurse(new Closed(), 500));
    Runnable inside = () -> middle(new Closed(), 8);
    stand("lambda in lambda", () -> inside.run());
    stand(
        "handle",
        () -> {
          try {
            HANDLE.invokeExact((Gate) new Closed(), 5);
          } catch (Throwable e) {
            throw new IllegalStateException(e);
          }
        });
    stand(
        "reflection",
        () -> {
          try {
            Known.class.getMethod("byReflection", Gate.class).invoke(null, new Asleep());
          } catch (Exception e) {
            throw new IllegalStateException(e);
          }
        });
    stand("given up", () -> measure(square, new Closed()));
    standing.await();
    sum += new Circle().area(null);
    Thread.sleep(200);
    System.out.println("ready");
    Thread.sleep(600_000);
  }
}
