import java.util.*;
import java.util.zip.*;
import java.io.*;

/** A program whose call graph is known: see the list of callers in the test. */
public class KnownGraph {
    static volatile long sink;
    static byte[] data = new byte[1 << 16];

    interface Shape { long area(int n); }
    static final class A implements Shape { public long area(int n) { return work(n, 1); } }
    static final class B implements Shape { public long area(int n) { return work(n, 2); } }
    static final class C implements Shape { public long area(int n) { return work(n, 3); } }
    static final class D implements Shape { public long area(int n) { return work(n, 4); } }

    static long work(int n, int k) { long s = k; for (int i = 0; i < n; i++) s = s * 31 + i; return s; }
    static void mega() { Shape[] all = { new A(), new B(), new C(), new D() }; long s = 0; for (int i = 0; i < 4000; i++) s += all[i & 3].area(20); sink += s; }
    static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    static void fibs() { sink += fib(20); }
    static void deflate() { Deflater d = new Deflater(1); d.setInput(data); d.finish(); byte[] out = new byte[1 << 16]; while (!d.finished()) sink += d.deflate(out); d.end(); }
    static int thrower(int n) { if (n == 0) throw new IllegalStateException(); return thrower(n - 1) + 1; }
    static void exceptions() { for (int i = 0; i < 100; i++) try { sink += thrower(10); } catch (IllegalStateException e) { sink++; } }
    static void strings() { StringBuilder b = new StringBuilder(); for (int i = 0; i < 800; i++) b.append(i).append(' '); sink += b.toString().split(" ").length; }
    static void alloc() { List<Object> l = new ArrayList<>(); for (int i = 0; i < 3000; i++) l.add(new long[8]); sink += l.size(); }
    static void maths() { double d = 0; for (int i = 0; i < 4000; i++) d += Math.sin(i) * Math.pow(i, 0.3) + Math.log(i + 1); sink += (long) d; }
    static void copies() { byte[] to = new byte[1 << 16]; for (int i = 0; i < 60; i++) System.arraycopy(data, 0, to, 0, to.length); sink += to[77]; }
    static void files() { try (RandomAccessFile f = new RandomAccessFile("/dev/null", "rw")) { for (int i = 0; i < 60; i++) f.write(data, 0, 512); } catch (IOException e) { sink++; } }
    static void streams() { sink += java.util.stream.IntStream.range(0, 3000).mapToObj(i -> "x" + i).filter(s -> s.length() > 3).mapToInt(String::length).sum(); }
    static void maps() { Map<Integer, Integer> m = new HashMap<>(); for (int i = 0; i < 2000; i++) m.merge(i % 100, 1, Integer::sum); sink += m.size(); }
    static int deep(int n) { return n == 0 ? (int) work(30000, 7) : deep(n - 1) + 1; }
    static void recursion() { sink += deep(DEPTH); }
    static void sync() { for (int i = 0; i < 2000; i++) synchronized (data) { sink++; } }
    static void phases() { if (ONLY_RECURSION) { recursion(); return; } mega(); fibs(); deflate(); exceptions(); strings(); alloc(); maths(); copies(); files(); streams(); maps(); recursion(); sync(); }
    static void loop() { for (;;) phases(); }
    static void yielding() { for (;;) { phases(); Thread.yield(); } }
    static final boolean ONLY_RECURSION = "recursion".equals(System.getProperty("only"));
    static int DEPTH = Integer.getInteger("depth", 60);

    /** Arguments: "platform" or "virtual", then threads. */
    public static void main(String[] args) throws Exception {
        new Random(1).nextBytes(data);
        boolean virtual = args[0].equals("virtual");
        for (int i = 0; i < Integer.parseInt(args[1]); i++) {
            if (virtual) {
                // Compiled for JDK 8: virtual threads are started by reflection.
                Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, (Runnable) KnownGraph::yielding);
            } else {
                Thread t = new Thread(KnownGraph::loop, "known-loop-" + i);
                t.setDaemon(true);
                t.start();
            }
        }
        System.out.println("ready");
        System.in.read();
    }
}
