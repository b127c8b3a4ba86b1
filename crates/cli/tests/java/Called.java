import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Calls a method as often as standard input says, and counts by itself:
 *
 * <pre>
 *   warm N          calls it N times, as fast as it can
 *   call N          the same from another method, and says "called N"
 *   threads N M     N threads "caller-0" ... call it M times each, and says "called N*M"
 *   pace N          100 times a second, N times, and says "called N"
 *   slow N US       calls a method N times that takes so many microseconds, and says "slow N" and the nanoseconds of all
 *                   calls, by its own clock
 *   spin N          N times a second for ever, on a thread of its own, and says "spinning"
 *   count           says "count" and all calls so far
 *   change          loads a class by which the compiled code of the method becomes invalid, and says "changed"
 * </pre>
 */
public class Called {
    interface Shape {
        int area(int side);
    }

    static final class Square implements Shape {
        public int area(int side) {
            return side * side;
        }
    }

    /** Loaded by "change": until then compilers know of one shape only. */
    static final class Line implements Shape {
        public int area(int side) {
            return side;
        }
    }

    static final AtomicLong calls = new AtomicLong();
    static volatile Shape shape = new Square();
    static volatile int sink;

    /**
     * The method that is watched. It is compiled without being inlined: see the
     * options of the test.
     */
    static int step(int side) {
        return shape.area(side) + 1;
    }

    static void called(int side) {
        sink = step(side);
        calls.incrementAndGet();
    }

    static void other(long times) {
        for (long i = 0; i < times; i++) {
            sink = once((int) i);
            calls.incrementAndGet();
        }
    }

    /** Small enough to be inlined into whatever calls it often. */
    static int once(int side) {
        return step(side);
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            long first = words.length > 1 ? Long.parseLong(words[1]) : 0;
            switch (words[0]) {
                case "warm":
                    for (long i = 0; i < first; i++) {
                        called((int) i);
                    }
                    System.out.println("warm");
                    break;
                case "call":
                    other(first);
                    System.out.println("called " + first);
                    break;
                case "threads":
                    threads((int) first, Long.parseLong(words[2]));
                    break;
                case "pace":
                    for (long i = 0; i < first; i++) {
                        called((int) i);
                        Thread.sleep(10);
                    }
                    System.out.println("called " + first);
                    break;
                case "slow":
                    System.out.println("slow " + first + " " + slow(first, Long.parseLong(words[2])));
                    break;
                case "spin":
                    spin(first);
                    System.out.println("spinning");
                    break;
                case "change":
                    shape = new Line();
                    System.out.println("changed");
                    break;
                default:
                    System.out.println("count " + calls.get());
            }
        }
    }

    static long slow(long times, long micros) {
        long sum = 0;
        for (long i = 0; i < times; i++) {
            sum += timed(micros);
        }
        return sum;
    }

    /**
     * Compiled by its calls; the loop around it may go on in the interpreter. Not inlined either.
     */
    static long timed(long micros) {
        long begun = System.nanoTime();
        sink = takes(micros);
        return System.nanoTime() - begun;
    }

    /** Not inlined either. */
    static int takes(long micros) {
        long end = System.nanoTime() + micros * 1000;
        int turns = 0;
        while (System.nanoTime() < end) {
            turns++;
        }
        return turns;
    }

    static void threads(int many, long each) throws InterruptedException {
        Thread[] all = new Thread[many];
        for (int i = 0; i < many; i++) {
            all[i] = new Thread(() -> other(each), "caller-" + i);
            all[i].start();
        }
        for (Thread thread : all) {
            thread.join();
        }
        System.out.println("called " + many * each);
    }

    static void spin(long each) {
        Thread thread = new Thread(() -> {
            long begun = System.nanoTime();
            for (long i = 0; ; i++) {
                called((int) i);
                while (i * 1_000_000_000.0 / each > System.nanoTime() - begun) {
                    Thread.yield();
                }
            }
        }, "spinner");
        thread.setDaemon(true);
        thread.start();
    }
}
