import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32;

/**
 * A small service with a bit of every layer: a pool that takes orders over loopback sockets, checks
 * and books them, keeps a journal on a disk, and in the middle third of its run makes each booking
 * durable while it holds the ledger's lock.
 *
 * <p>{@code java Orders SECONDS DIRECTORY} writes DIRECTORY/throughput.csv (epoch milliseconds,
 * orders a second) and DIRECTORY/journal.
 */
public class Orders {
  static final int CLIENTS = 6;
  static final AtomicLong done = new AtomicLong();
  static final Map<String, Long> ledger = new HashMap<>();
  static final ArrayDeque<byte[]> recent = new ArrayDeque<>();
  static volatile boolean durable;

  public static void main(String[] args) throws Exception {
    long seconds = Long.parseLong(args[0]);
    Path dir = Path.of(args[1]);
    FileOutputStream journal = new FileOutputStream(dir.resolve("journal").toFile());
    ServerSocket server = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
    ExecutorService pool = Executors.newFixedThreadPool(CLIENTS, named("order-exec-"));
    daemon("acceptor", () -> {
      while (true) {
        Socket socket = server.accept();
        socket.setTcpNoDelay(true);
        pool.submit(() -> { serve(socket, journal); return null; });
      }
    });
    for (int i = 0; i < CLIENTS; i++) {
      int number = i;
      daemon("client-" + i, () -> { order(server.getLocalPort(), number); return null; });
    }
    System.out.println("ready");
    System.out.flush();
    long start = System.nanoTime();
    try (OutputStream table = new FileOutputStream(dir.resolve("throughput.csv").toFile())) {
      table.write("timestamp_ms,throughput\n".getBytes(StandardCharsets.UTF_8));
      long before = 0;
      for (long half = 1; half <= 2 * seconds; half++) {
        Thread.sleep(Math.max(1, (start + half * 500_000_000L - System.nanoTime()) / 1_000_000));
        durable = half > 2 * seconds / 3 && half <= 4 * seconds / 3;
        long now = done.get();
        table.write((System.currentTimeMillis() + "," + 2 * (now - before) + "\n").getBytes(StandardCharsets.UTF_8));
        before = now;
      }
    }
    System.exit(0);
  }

  static void serve(Socket socket, FileOutputStream journal) throws Exception {
    InputStream in = socket.getInputStream();
    OutputStream out = socket.getOutputStream();
    byte[] line = new byte[256];
    while (true) {
      int length = in.read(line);
      if (length < 0) {
        return;
      }
      String order = new String(line, 0, length, StandardCharsets.UTF_8).trim();
      String answer = order + " " + check(order);
      book(order, answer, journal);
      out.write((answer + "\n").getBytes(StandardCharsets.UTF_8));
      done.incrementAndGet();
    }
  }

  /** Work on the CPU, with garbage. */
  static long check(String order) {
    CRC32 crc = new CRC32();
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 60; i++) {
      text.append(order, 0, Math.min(order.length(), 8)).append(String.format("%04x", i * 31 + text.length()));
      crc.update(text.toString().getBytes(StandardCharsets.UTF_8));
    }
    return crc.getValue();
  }

  static void book(String order, String answer, FileOutputStream journal) throws Exception {
    synchronized (ledger) {
      ledger.merge(order.substring(0, Math.min(4, order.length())), 1L, Long::sum);
      byte[] entry = (answer + "\n").getBytes(StandardCharsets.UTF_8);
      recent.add(new byte[2048]);
      if (recent.size() > 20_000) {
        recent.poll();
      }
      journal.write(entry);
      if (durable) {
        journal.getFD().sync();
      }
    }
  }

  static void order(int port, int number) throws Exception {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setTcpNoDelay(true);
      InputStream in = socket.getInputStream();
      OutputStream out = socket.getOutputStream();
      byte[] line = new byte[512];
      for (long n = 0; ; n++) {
        out.write(("c" + number + "-" + (n * 7919 % 10_000) + "-order-of-a-customer\n").getBytes(StandardCharsets.UTF_8));
        if (in.read(line) < 0) {
          return;
        }
        Thread.sleep(1);
      }
    }
  }

  interface Body {
    Object run() throws Exception;
  }

  static void daemon(String name, Body body) {
    Thread thread = new Thread(() -> {
      try {
        body.run();
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }, name);
    thread.setDaemon(true);
    thread.start();
  }

  static java.util.concurrent.ThreadFactory named(String prefix) {
    AtomicLong n = new AtomicLong();
    return body -> {
      Thread thread = new Thread(body, prefix + n.getAndIncrement());
      thread.setDaemon(true);
      return thread;
    };
  }
}
