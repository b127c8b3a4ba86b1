import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Field;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Scanner;
import sun.misc.Unsafe;

/**
 * Waits whose causes are made from outside or by the program itself, each on a thread of its own,
 * which measures them: wall-clock time without its time on a CPU. Steps are read from standard
 * input; each says "begun NAME", in the end "step NAME" with nanoseconds off the CPU and how often
 * its thread was switched out.
 */
public class Truth {
    static final int PAGE = 4096;
    static final int BLOCK = 1 << 16;
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static volatile long sum;
    static volatile boolean collect;
    static volatile boolean zapped;

    interface Body {
        void run(Clock clock) throws Exception;
    }

    /** What the current thread was off the CPU between two looks. */
    static final class Clock {
        long offNs;
        private long wall;
        private long cpu;

        void begin() {
            cpu = THREADS.getCurrentThreadCpuTime();
            wall = System.nanoTime();
        }

        /** How long it took, nanoseconds. */
        long end() {
            long took = System.nanoTime() - wall;
            offNs += took - (THREADS.getCurrentThreadCpuTime() - cpu);
            return took;
        }
    }

    public static void main(String[] args) throws Exception {
        // What a step needs is loaded before it is measured.
        Clock first = new Clock();
        first.begin();
        first.end();
        nap(1);
        start("collector", clock -> {
            while (!collect) {
                nap(5);
            }
            clock.begin();
            System.gc();
            clock.end();
        });
        System.out.println("ready");
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String[] words = lines.nextLine().split(" ");
            switch (words[0]) {
                case "throttled":
                    start("throttled", clock -> spin(clock, Path.of(words[1]), Path.of(words[2]), 3_000));
                    break;
                case "held-back":
                    start("held-back", clock -> writeMuch(clock, words[1], 3_000));
                    break;
                case "writer":
                    start("writer", clock -> writeOn(clock, words[1]));
                    break;
                case "toucher":
                    start("toucher", clock -> touchOn(clock, Path.of(words[1])));
                    break;
                case "reclaimer":
                    start("reclaimer", clock -> touchAll(Path.of(words[1])));
                    break;
                case "collect":
                    collect = true;
                    break;
                case "mapper":
                    start("zapper", clock -> zap(10));
                    start("mapper", Truth::map);
                    break;
                default:
                    throw new IllegalArgumentException(words[0]);
            }
        }
    }

    /**
     * Burns CPU in a control group, and leaves it for another: what comes behind is not measured
     * and must not be held back.
     */
    static void spin(Clock clock, Path group, Path other, long ms) throws Exception {
        byte[] self = Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString().getBytes();
        Files.write(group, self);
        clock.begin();
        long end = System.nanoTime() + ms * 1_000_000;
        long x = 1;
        while (System.nanoTime() < end) {
            for (int i = 0; i < 1000; i++) {
                x = x * 31 + 7;
            }
            sum = x;
        }
        clock.end();
        Files.write(other, self);
    }

    /** Writes as much as it is let. */
    static void writeMuch(Clock clock, String path, long ms) throws Exception {
        byte[] block = new byte[BLOCK];
        try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
            clock.begin();
            long end = System.nanoTime() + ms * 1_000_000;
            for (long at = 0; System.nanoTime() < end; at = (at + BLOCK) % (24 << 20)) {
                file.seek(at);
                write(file, block);
            }
            clock.end();
        }
    }

    static void write(RandomAccessFile file, byte[] block) throws Exception {
        file.write(block);
    }

    /** Writes a little now and then, until that hangs. */
    static void writeOn(Clock clock, String path) throws Exception {
        byte[] block = new byte[PAGE];
        try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
            long took = 0;
            while (took < 500_000_000) {
                nap(5);
                clock.begin();
                write(file, block);
                took = clock.end();
            }
        }
    }

    /** Touches a page of a mapped file now and then, until that hangs. */
    static void touchOn(Clock clock, Path path) throws Exception {
        long bytes = 16 << 20;
        try (FileChannel file =
                FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            MappedByteBuffer map = file.map(FileChannel.MapMode.READ_WRITE, 0, bytes);
            long took = 0;
            for (int at = 0; took < 500_000_000; at += PAGE) {
                nap(5);
                clock.begin();
                touch(map, at);
                took = clock.end();
            }
        }
    }

    static void touch(MappedByteBuffer map, int at) {
        map.put(at, (byte) 1);
    }

    /** Touches all of a mapped file, twice. */
    static void touchAll(Path path) throws Exception {
        try (FileChannel file = FileChannel.open(path)) {
            MappedByteBuffer map = file.map(FileChannel.MapMode.READ_ONLY, 0, file.size());
            for (int at = 0; at < 2 * map.capacity(); at += PAGE) {
                sum += map.get(at % map.capacity());
            }
        }
    }

    /** Gives back much memory at once, for which its process' address space is locked. */
    static void zap(int times) throws Exception {
        Unsafe unsafe = unsafe();
        long bytes = 384L << 20;
        for (int i = 0; i < times; i++) {
            long at = unsafe.allocateMemory(bytes);
            for (long page = 0; page < bytes; page += PAGE) {
                unsafe.putByte(at + page, (byte) 1);
            }
            unsafe.freeMemory(at);
        }
        zapped = true;
    }

    /** Maps and unmaps all the while. */
    static void map(Clock clock) throws Exception {
        Unsafe unsafe = unsafe();
        clock.begin();
        while (!zapped) {
            mapOne(unsafe);
        }
        clock.end();
    }

    static void mapOne(Unsafe unsafe) {
        unsafe.freeMemory(unsafe.allocateMemory(1 << 20));
    }

    static Unsafe unsafe() throws Exception {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        return (Unsafe) field.get(null);
    }

    static void nap(long ms) throws InterruptedException {
        Thread.sleep(ms);
    }

    /** How often the current thread was switched out, of its own will or not. */
    static long switches() throws Exception {
        long sum = 0;
        for (String line : Files.readAllLines(Path.of("/proc/thread-self/status"))) {
            if (line.contains("ctxt_switches:")) {
                sum += Long.parseLong(line.substring(line.indexOf(':') + 1).trim());
            }
        }
        return sum;
    }

    static void start(String name, Body body) {
        Thread thread = new Thread(() -> {
            Clock clock = new Clock();
            try {
                // Whoever looks on from outside has to find a new thread first.
                nap(800);
                System.out.println("begun " + name);
                body.run(clock);
                System.out.println("step " + name + " " + clock.offNs + " " + switches());
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }
}
