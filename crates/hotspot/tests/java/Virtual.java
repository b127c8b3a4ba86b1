/**
 * A virtual thread (JDK 21 on) that stays on its carrier: the initialiser of a class
 * waits, which pins it.
 */
public class Virtual {
  static final class Slow {
    static int value;

    static {
      System.out.println("ready");
      try {
        Thread.sleep(600_000);
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  static void work() {
    Slow.value++;
  }

  public static void main(String[] args) throws Exception {
    Runnable body = Virtual::work;
    // By reflection, because the program is compiled for JDK 8.
    Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body);
    Thread.sleep(600_000);
  }
}
