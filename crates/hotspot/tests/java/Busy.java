import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.regex.Pattern;

/**
 * Gives compilers new code all the time: each round is done by lambdas made by a fresh class
 * loader's copy of it.
 */
public class Busy {
  /** One round of work over much of the class library. */
  public static class Round implements Runnable {
    @Override
    public void run() {
      Random random = new Random(7);
      List<String> words = new ArrayList<>();
      for (int i = 0; i < 2000; i++) {
        words.add(Integer.toString(random.nextInt(), 36));
      }
      Collections.sort(words);
      Pattern pattern = Pattern.compile("(a|b)+[^c]*z?");
      long hits = words.stream().filter(word -> pattern.matcher(word).find()).count();
      BigInteger product = BigInteger.ONE;
      for (int i = 1; i < 300; i++) {
        product = product.multiply(BigInteger.valueOf(i + hits % 2));
      }
      sink ^= product.bitLength() + hits;
    }
  }

  static volatile long sink;

  /** A loader that defines its own copy of {@link Round}. */
  static final class Copies extends ClassLoader {
    Class<?> copy(byte[] bytes) {
      return defineClass("Busy$Round", bytes, 0, bytes.length);
    }
  }

  public static void main(String[] args) throws Exception {
    java.io.InputStream in = Busy.class.getResourceAsStream("Busy$Round.class");
    java.io.ByteArrayOutputStream out = new java.io.ByteArrayOutputStream();
    for (int b; (b = in.read()) >= 0; ) {
      out.write(b);
    }
    System.out.println("ready");
    while (true) {
      Runnable round =
          (Runnable) new Copies().copy(out.toByteArray()).getDeclaredConstructor().newInstance();
      for (int i = 0; i < 20; i++) {
        round.run();
      }
    }
  }
}
