import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/**
 * Programs to be profiled. Arguments: which, then for how many seconds, or "fixed" and how many
 * operations: then the CPU time of the threads that worked is printed, which says what a profiler
 * takes away whatever else the machine does.
 */
public class Loads {
    static volatile long sink;
    static final AtomicLong operations = new AtomicLong();
    static final AtomicLong cpuNanos = new AtomicLong();
    static volatile long left = Long.MAX_VALUE;
    static final AtomicLong taken = new AtomicLong();

    public static void main(String[] args) throws Exception {
        boolean fixed = args[1].equals("fixed");
        long amount = args[1].equals("turns") ? 0 : Long.parseLong(args[args.length - 1]);
        Runnable operation = switch (args[0]) {
            case "javac" -> Loads::compileOnce;
            case "service" -> service();
            case "shares" -> Loads::shares;
            case "deep" -> () -> sink += deep(500);
            default -> throw new IllegalArgumentException(args[0]);
        };
        int threads = args[0].equals("javac") || args[0].equals("service") || args[1].equals("turns") ? 2 : 1;
        if (fixed) {
            // Warm first: what is measured is compiled.
            run(operation, threads, Math.max(amount / 4, 2));
            cpuNanos.set(0);
            long begin = System.nanoTime();
            System.out.println("warm");
            run(operation, threads, amount);
            System.out.printf("cpu_ms %.1f wall_ms %.1f%n", cpuNanos.get() / 1e6, (System.nanoTime() - begin) / 1e6);
            System.exit(0);
        }
        if (args[1].equals("turns")) {
            turns(operation, threads);
            System.exit(0);
        }
        Thread stopper = new Thread(() -> {
            try {
                Thread.sleep(amount * 1000);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            left = 0;
        });
        stopper.setDaemon(true);
        stopper.start();
        System.out.println("ready");
        run(operation, threads, Long.MAX_VALUE);
        System.out.println("operations " + operations.get());
        System.exit(0);
    }

    /**
     * Works when it is asked to: a line of standard input is a number of seconds; rests otherwise,
     * with all of its code compiled.
     */
    static void turns(Runnable operation, int threads) throws Exception {
        var process = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        System.out.println("ready");
        java.io.BufferedReader in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            long cpu = process.getProcessCpuTime(), begin = System.nanoTime();
            long end = begin + (long) (Double.parseDouble(line.trim()) * 1e9);
            List<long[]> took = new ArrayList<>();
            int[] counts = new int[threads];
            List<Thread> all = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                int number = i;
                long[] own = new long[1 << 21];
                took.add(own);
                Thread thread = new Thread(() -> {
                    for (long now = System.nanoTime(); now < end && counts[number] < own.length; ) {
                        operation.run();
                        long after = System.nanoTime();
                        own[counts[number]++] = after - now;
                        now = after;
                    }
                }, "worker-" + i);
                thread.start();
                all.add(thread);
            }
            for (Thread thread : all) {
                thread.join();
            }
            double seconds = (System.nanoTime() - begin) / 1e9;
            cpu = process.getProcessCpuTime() - cpu;
            int count = Arrays.stream(counts).sum(), at = 0;
            long[] sorted = new long[count];
            for (int i = 0; i < threads; i++) {
                System.arraycopy(took.get(i), 0, sorted, at, counts[i]);
                at += counts[i];
            }
            Arrays.sort(sorted);
            System.out.printf("turn %.3f %d %d %d%n", count / seconds, sorted[count / 2], sorted[Math.min(count - 1, (int) (count * 0.99))], cpu / count);
        }
    }

    static void run(Runnable operation, int threads, long amount) throws InterruptedException {
        ThreadMXBean times = ManagementFactory.getThreadMXBean();
        left = amount;
        taken.set(0);
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(() -> {
                while (taken.getAndIncrement() < left) {
                    operation.run();
                    operations.incrementAndGet();
                }
                cpuNanos.addAndGet(times.getCurrentThreadCpuTime());
            }, "worker-" + i);
            thread.start();
            all.add(thread);
        }
        for (Thread thread : all) {
            thread.join();
        }
    }

    // javac, within the process: deep stacks of large, polymorphic code.

    static final JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    static final List<JavaFileObject> sources = sources(12);

    static List<JavaFileObject> sources(int count) {
        List<JavaFileObject> sources = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            String text = """
                import java.util.*; import java.util.function.*;
                class C%d<T extends Comparable<T>> {
                  private final Map<String, List<T>> byName = new HashMap<>();
                  Optional<T> max(Predicate<? super T> p) { return byName.values().stream().flatMap(List::stream).filter(p).max(Comparator.naturalOrder()); }
                  int work(int n) { int s = 0; for (int i = 0; i < n; i++) { switch (i %% 7) { case 0: s += i; break; case 3: s ^= i << 2; break; default: s--; } } return s; }
                  record Pair<A, B>(A a, B b) { <C> Pair<A, C> with(C c) { return new Pair<>(a, c); } }
                }
                """.formatted(i);
            sources.add(new SimpleJavaFileObject(URI.create("string:///C" + i + ".java"), JavaFileObject.Kind.SOURCE) {
                @Override
                public CharSequence getCharContent(boolean ignore) {
                    return text;
                }
            });
        }
        return sources;
    }

    static void compileOnce() {
        JavaFileManager nowhere = new ForwardingJavaFileManager<>(compiler.getStandardFileManager(null, null, null)) {
            @Override
            public JavaFileObject getJavaFileForOutput(Location where, String name, JavaFileObject.Kind kind, javax.tools.FileObject by) {
                return new SimpleJavaFileObject(URI.create("mem:///" + name), kind) {
                    @Override
                    public java.io.OutputStream openOutputStream() {
                        return java.io.OutputStream.nullOutputStream();
                    }
                };
            }
        };
        if (!compiler.getTask(null, nowhere, null, Arrays.asList("-proc:none", "-nowarn"), null, sources).call()) {
            throw new IllegalStateException("the sources do not compile");
        }
    }

    // A service: 64 threads that take requests from a queue and answer them.

    record Request(int number, ArrayBlockingQueue<Long> answer) {}

    static Runnable service() {
        BlockingQueue<Request> queue = new ArrayBlockingQueue<>(128);
        Map<Integer, String> store = new ConcurrentHashMap<>();
        for (int i = 0; i < 64; i++) {
            Thread thread = new Thread(() -> {
                try {
                    while (true) {
                        Request request = queue.take();
                        request.answer().put(answer(request.number(), store));
                    }
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }, "handler-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        AtomicLong numbers = new AtomicLong();
        return () -> {
            ArrayBlockingQueue<Long> answer = new ArrayBlockingQueue<>(1);
            try {
                queue.put(new Request((int) numbers.incrementAndGet() % 10_000, answer));
                sink += answer.take();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        };
    }

    static long answer(int number, Map<Integer, String> store) {
        String text = store.computeIfAbsent(number, n -> "value " + n + " of " + Math.sqrt(n));
        return Arrays.stream(text.split(" ")).map(String::toUpperCase).mapToLong(String::hashCode).sum();
    }

    // Work whose shares are known: the same loop, so many times.

    static void shares() {
        half();
        quarter();
        eighth();
        sixteenth();
        rest();
    }

    static void half() { sink += spin(160_000); }
    static void quarter() { sink += spin(80_000); }
    static void eighth() { sink += spin(40_000); }
    static void sixteenth() { sink += spin(20_000); }
    static void rest() { sink += spin(20_000); }

    static long spin(int times) {
        long x = sink | 1;
        for (int i = 0; i < times; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        return x;
    }

    static int deep(int depth) {
        return depth == 0 ? (int) spin(20_000) : deep(depth - 1) + 1;
    }
}
