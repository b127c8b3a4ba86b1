import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Programs that make the kernel or the JVM do one thing very often, and count it themselves.
 * Arguments: which, how many events a second over all threads (0: as many as the machine
 * makes), how many threads.
 *
 * <p>A line of standard input is a number of seconds to work for; the answer is a line:
 * {@code turn}, operations a second, median and 99th percentile of an operation in nanoseconds,
 * then what the program knows of itself as {@code name=number}. It never rests between operations:
 * between its events it computes, for as long as makes the asked rate when nobody watches. What
 * watching takes is thus missing in the operations, and not taken out of idle time.
 */
public class EventLoads {
    /** Events of an operation, so that its time is long against that of reading a clock. */
    static final int BATCH = 16;
    /** Waits as long are counted apart: those that tools tell one by one. */
    static final long LONG_NS = 1_000_000;

    /** What a program knows of itself. */
    enum Known {
        EVENTS, CPU_NS, ALL_CPU_NS, OFF_CPU_NS, SWITCHES, FAULTS, TOUCH_NS,
        RECEIVE_COUNT, RECEIVE_NS, LONG_RECEIVE_COUNT, LONG_RECEIVE_NS,
        MONITOR_COUNT, MONITOR_NS, LONG_MONITOR_COUNT, LONG_MONITOR_NS,
        LOCK_COUNT, LOCK_NS, LONG_LOCK_COUNT, LONG_LOCK_NS
    }

    /** What one thread has done. */
    static final class Tally {
        final long[] took = new long[1 << 20];
        final long[] known = new long[Known.values().length];
        int operations;
        /**
         * How long it took to touch pages for the first time, batch by batch, as many
         * as there is room for.
         */
        final long[] touched = new long[1 << 17];
        int touches;
        /** Where its computing has got to. */
        long computed = 1;

        void add(Known what, long amount) {
            known[what.ordinal()] += amount;
        }

        /**
         * Notes a wait that the program has measured itself: its count, and the
         * three figures behind it.
         */
        void waited(Known count, long ns) {
            int at = count.ordinal();
            known[at] += 1;
            known[at + 1] += ns;
            if (ns >= LONG_NS) {
                known[at + 2] += 1;
                known[at + 3] += ns;
            }
        }

        void spin(int rounds) {
            long x = computed;
            for (int i = 0; i < rounds; i++) {
                x ^= x << 13;
                x ^= x >>> 7;
                x ^= x << 17;
            }
            computed = x;
        }
    }

    interface Operation {
        void run(Tally tally) throws Exception;
    }

    /**
     * A thread of a load: its operations are timed, or it only makes the others' possible,
     * until they are done.
     */
    record Actor(String name, boolean timed, Operation operation) {}

    interface Load {
        /** Its threads. */
        List<Actor> actors();

        /** Ends what waits for others when these are done. */
        default void release() {}
    }

    static int threads;
    static long rate;
    /** Rounds of {@link Tally#spin} between two events. */
    static volatile int spins;
    static volatile boolean done;

    public static void main(String[] args) throws Exception {
        rate = Long.parseLong(args[1]);
        threads = Integer.parseInt(args[2]);
        Load load = switch (args[0]) {
            case "syscalls" -> new Calls();
            case "locks" -> new Locks();
            case "faults" -> new Faults();
            case "switches" -> new Switches();
            default -> throw new IllegalArgumentException(args[0]);
        };
        calibrate(load);
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            long[] known = new long[Known.values().length];
            StringBuilder said = new StringBuilder();
            long wall = turn(load, (long) (Double.parseDouble(line.trim()) * 1e9), known, said);
            said.append(" wall_ns=").append(wall).append(" spins=").append(spins);
            for (Known what : Known.values()) {
                said.append(' ').append(what.name().toLowerCase(Locale.ROOT)).append('=').append(known[what.ordinal()]);
            }
            System.out.println(said);
        }
        System.exit(0);
    }

    /**
     * Computes between events for what is left of their time; locks are held for times of their
     * own.
     */
    static void calibrate(Load load) throws Exception {
        if (rate == 0 || load instanceof Locks) {
            turn(load, 3_000_000_000L, new long[Known.values().length], new StringBuilder());
            return;
        }
        int most = 1 << 14;
        Tally tally = new Tally();
        double spin = 0;
        for (int i = 0; i < 6; i++) {
            long begin = System.nanoTime();
            for (int k = 0; k < 2000; k++) {
                tally.spin(most);
            }
            spin = (System.nanoTime() - begin) / 2000.0 / most;
        }
        // From what was measured to what is wanted, a few times over: caches and compiled
        // code change on the way.
        double wanted = threads * 1e9 / rate;
        for (int i = 0; i < 5; i++) {
            long[] known = new long[Known.values().length];
            long wall = turn(load, 1_500_000_000L, known, new StringBuilder());
            // Threads that only work are known by their CPU time, whatever else the machine does.
            double spent = load instanceof Switches ? (double) threads * wall : known[Known.CPU_NS.ordinal()];
            double took = spent / known[Known.EVENTS.ordinal()];
            spins = (int) Math.max(0, spins + (wanted - took) / spin);
        }
    }

    /**
     * A thread that lives as long as the program, as some tools see only threads that
     * were there before them.
     */
    static final class Worker extends Thread {
        final Actor actor;
        final SynchronousQueue<Long> begin = new SynchronousQueue<>(), end = new SynchronousQueue<>();
        Tally tally;

        Worker(Actor actor) {
            super(actor.name());
            this.actor = actor;
            setDaemon(true);
        }

        @Override
        public void run() {
            try {
                while (true) {
                    long until = begin.take();
                    work(actor, tally, until);
                    end.put(until);
                }
            } catch (Exception broken) {
                broken.printStackTrace();
                System.exit(1);
            }
        }
    }

    static final List<Worker> workers = new ArrayList<>();

    /**
     * Works; how long that took, what was known by the threads together, and how fast
     * they were, in words.
     */
    static long turn(Load load, long length, long[] known, StringBuilder said) throws Exception {
        done = false;
        if (workers.isEmpty()) {
            load.actors().forEach(actor -> workers.add(new Worker(actor)));
            workers.forEach(Thread::start);
        }
        for (Worker worker : workers) {
            worker.tally = new Tally();
        }
        long epoch = System.currentTimeMillis(), begin = System.nanoTime(), until = begin + length;
        for (Worker worker : workers) {
            worker.begin.put(until);
        }
        for (Worker worker : workers) {
            if (worker.actor.timed()) {
                worker.end.take();
            }
        }
        long wall = System.nanoTime() - begin;
        done = true;
        load.release();
        for (Worker worker : workers) {
            if (!worker.actor.timed()) {
                worker.end.take();
            }
        }
        int operations = workers.stream().mapToInt(worker -> worker.tally.operations).sum(), at = 0;
        long[] sorted = new long[operations];
        for (Worker worker : workers) {
            System.arraycopy(worker.tally.took, 0, sorted, at, worker.tally.operations);
            at += worker.tally.operations;
            for (int i = 0; i < known.length; i++) {
                known[i] += worker.tally.known[i];
            }
        }
        Arrays.sort(sorted);
        said.append("turn ").append(operations / (wall / 1e9)).append(' ').append(sorted[operations / 2]);
        said.append(' ').append(sorted[(int) (operations * 99L / 100)]).append(" begin_ms=").append(epoch);
        said.append(" longest_ns=").append(sorted[operations - 1]);
        return wall;
    }

    static void work(Actor actor, Tally tally, long end) throws Exception {
        long begin = System.nanoTime(), cpu = cpu();
        kernelKnows(tally, -1);
        if (actor.timed()) {
            for (long now = begin; now < end && tally.operations < tally.took.length; ) {
                actor.operation().run(tally);
                long after = System.nanoTime();
                tally.took[tally.operations++] = after - now;
                now = after;
            }
        } else {
            while (!done) {
                actor.operation().run(tally);
            }
        }
        kernelKnows(tally, 1);
        if (tally.touches > 0) {
            // By their median: of the others some were made to wait for a CPU.
            long[] some = Arrays.copyOf(tally.touched, Math.min(tally.touches, tally.touched.length));
            Arrays.sort(some);
            tally.add(Known.TOUCH_NS, some[some.length / 2] * tally.touches);
        }
        cpu = cpu() - cpu;
        // Those that worked are what the load is about.
        if (actor.timed()) {
            tally.add(Known.CPU_NS, cpu);
        }
        tally.add(Known.ALL_CPU_NS, cpu);
        tally.add(Known.OFF_CPU_NS, Math.max(0, System.nanoTime() - begin - cpu));
    }

    /** CPU time of this thread. */
    static long cpu() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    /** Adds what the kernel has counted for this thread (proc(5)), or takes it away. */
    static void kernelKnows(Tally tally, int sign) throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/thread-self/status"))) {
            if (line.contains("voluntary_ctxt_switches")) {
                tally.add(Known.SWITCHES, sign * Long.parseLong(line.substring(line.indexOf(':') + 1).trim()));
            }
        }
        String stat = Files.readString(Path.of("/proc/thread-self/stat"));
        String[] behindName = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        tally.add(Known.FAULTS, sign * (Long.parseLong(behindName[7]) + Long.parseLong(behindName[9])));
    }

    /**
     * Writes of a byte that go nowhere, and one thread that receives from a peer which sends
     * every five milliseconds.
     */
    static final class Calls implements Load {
        private final List<FileChannel> files = new ArrayList<>();
        private final DatagramChannel receiver, sender;

        Calls() throws IOException {
            // One each: threads that share a channel wait for each other.
            for (int i = 0; i < threads; i++) {
                files.add(FileChannel.open(Path.of("/dev/null"), StandardOpenOption.WRITE));
            }
            receiver = DatagramChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            sender = DatagramChannel.open().connect(receiver.getLocalAddress());
        }

        @Override
        public List<Actor> actors() {
            List<Actor> actors = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                FileChannel nowhere = files.get(i);
                ByteBuffer one = ByteBuffer.allocateDirect(1);
                actors.add(new Actor("worker-" + i, true, tally -> {
                    for (int k = 0; k < BATCH; k++) {
                        one.clear();
                        nowhere.write(one, 0);
                        tally.spin(spins);
                    }
                    tally.add(Known.EVENTS, BATCH);
                }));
            }
            ByteBuffer sent = ByteBuffer.allocateDirect(1), received = ByteBuffer.allocateDirect(1);
            actors.add(new Actor("sender", false, tally -> {
                Thread.sleep(5);
                sent.clear();
                sender.write(sent);
            }));
            actors.add(new Actor("receiver", false, tally -> {
                received.clear();
                long begin = System.nanoTime();
                receiver.receive(received);
                tally.waited(Known.RECEIVE_COUNT, System.nanoTime() - begin);
            }));
            return actors;
        }

        @Override
        public void release() {
            try (DatagramChannel last = DatagramChannel.open()) {
                last.send(ByteBuffer.allocate(1), receiver.getLocalAddress());
            } catch (IOException broken) {
                throw new IllegalStateException(broken);
            }
        }
    }

    /**
     * A monitor and a lock, four threads each, held for 20 µs of computing, once in 128 times for
     * 4 ms asleep; then 60 µs of rest. The rate is what comes of it.
     */
    static final class Locks implements Load {
        private static final long HOLD_NS = 20_000, LONG_HOLD_NS = 4_000_000, REST_NS = 60_000;

        private final Object monitor = new Object();
        private final ReentrantLock lock = new ReentrantLock();
        private long monitorTurns, lockTurns;

        @Override
        public List<Actor> actors() {
            List<Actor> actors = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                actors.add(new Actor("monitor-" + i, true, tally -> {
                    long begin = System.nanoTime();
                    synchronized (monitor) {
                        tally.waited(Known.MONITOR_COUNT, System.nanoTime() - begin);
                        hold(++monitorTurns);
                    }
                    tally.add(Known.EVENTS, 1);
                    LockSupport.parkNanos(REST_NS);
                }));
                actors.add(new Actor("lock-" + i, true, tally -> {
                    long begin = System.nanoTime();
                    lock.lock();
                    try {
                        tally.waited(Known.LOCK_COUNT, System.nanoTime() - begin);
                        hold(++lockTurns);
                    } finally {
                        lock.unlock();
                    }
                    tally.add(Known.EVENTS, 1);
                    LockSupport.parkNanos(REST_NS);
                }));
            }
            return actors;
        }

        private static void hold(long turn) throws InterruptedException {
            if (turn % 128 == 0) {
                Thread.sleep(LONG_HOLD_NS / 1_000_000);
                return;
            }
            for (long end = System.nanoTime() + HOLD_NS; System.nanoTime() < end; ) {
                Thread.onSpinWait();
            }
        }
    }

    /** A file that is mapped for itself alone, written to page by page, and unmapped. */
    static final class Faults implements Load {
        private static final int PAGES = 64, PAGE = 4096;

        private final List<FileChannel> files = new ArrayList<>();
        private final Method unmap;
        private final Object unsafe;

        Faults() throws Exception {
            for (int i = 0; i < threads; i++) {
                Path path = Files.createTempFile("pages", "");
                // Its name is gone once it is open, however this program ends.
                FileChannel file = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.DELETE_ON_CLOSE);
                file.write(ByteBuffer.allocate(PAGES * PAGE));
                files.add(file);
            }
            // The only way to unmap at once before JDK 22.
            Class<?> type = Class.forName("sun.misc.Unsafe");
            Field field = type.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            unsafe = field.get(null);
            unmap = type.getMethod("invokeCleaner", ByteBuffer.class);
        }

        @Override
        public List<Actor> actors() {
            List<Actor> actors = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                FileChannel channel = files.get(i);
                actors.add(new Actor("worker-" + i, true, tally -> {
                    MappedByteBuffer pages = channel.map(FileChannel.MapMode.PRIVATE, 0, PAGES * PAGE);
                    for (int page = 0; page < PAGES; page += BATCH) {
                        long begin = System.nanoTime();
                        for (int k = 0; k < BATCH; k++) {
                            pages.put((page + k) * PAGE, (byte) 1);
                        }
                        tally.touched[tally.touches++ % tally.touched.length] = System.nanoTime() - begin;
                        for (int k = 0; k < BATCH; k++) {
                            tally.spin(spins);
                        }
                    }
                    unmap.invoke(unsafe, pages);
                    tally.add(Known.EVENTS, PAGES);
                }));
            }
            return actors;
        }
    }

    /**
     * Pairs of threads that wake each other in turn: one by LockSupport, the next by
     * a queue without room.
     */
    static final class Switches implements Load {
        private final List<Runnable> endings = new ArrayList<>();

        @Override
        public List<Actor> actors() {
            List<Actor> actors = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                if (i % 2 == 0) {
                    parking(i, actors);
                } else {
                    queueing(i, actors);
                }
            }
            return actors;
        }

        private static final class Turn {
            volatile int whose;
            volatile Thread first, second;
        }

        private void parking(int number, List<Actor> actors) {
            Turn turn = new Turn();
            actors.add(new Actor("worker-" + number, true, tally -> {
                turn.first = Thread.currentThread();
                turn.whose = 1;
                LockSupport.unpark(turn.second);
                while (turn.whose != 0) {
                    LockSupport.park(turn);
                }
                tally.spin(2 * spins);
                tally.add(Known.EVENTS, 2);
            }));
            actors.add(new Actor("partner-" + number, false, tally -> {
                turn.second = Thread.currentThread();
                while (turn.whose != 1 && !done) {
                    LockSupport.park(turn);
                }
                turn.whose = 0;
                LockSupport.unpark(turn.first);
            }));
            endings.add(() -> LockSupport.unpark(turn.second));
        }

        private void queueing(int number, List<Actor> actors) {
            SynchronousQueue<Integer> there = new SynchronousQueue<>(), back = new SynchronousQueue<>();
            actors.add(new Actor("worker-" + number, true, tally -> {
                there.put(1);
                tally.computed += back.take();
                tally.spin(2 * spins);
                tally.add(Known.EVENTS, 2);
            }));
            actors.add(new Actor("partner-" + number, false, tally -> {
                for (int got = there.take(); got > 0; got = there.take()) {
                    back.put(got);
                }
            }));
            endings.add(() -> {
                try {
                    there.put(0);
                } catch (InterruptedException broken) {
                    Thread.currentThread().interrupt();
                }
            });
        }

        @Override
        public void release() {
            endings.forEach(Runnable::run);
        }
    }
}
