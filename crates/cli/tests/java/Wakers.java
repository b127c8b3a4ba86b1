import com.sun.nio.file.ExtendedOpenOption;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads whose wakers are known, next to some that do nothing but run: of each wait there is
 * one thing that ends it.
 *
 * <p>Argument: a file of 64 MB, which is read around the page cache.
 */
public final class Wakers {
  private static final int ROUNDS = 200;
  private static final int BLOCK = 1 << 20;

  /**
   * Milliseconds that a nap takes: long enough that no CPU sees more than 1000 waits a second, of
   * which the rest is summed.
   */
  private static final int NAP = 10;

  private static volatile boolean over;

  private Wakers() {}

  interface Job {
    void run() throws Exception;
  }

  private static Thread start(String name, Job job) {
    Thread thread =
        new Thread(
            () -> {
              try {
                // Until all have their names at the kernel, and whoever remembers another
                // one has forgotten it.
                nap(1500);
                job.run();
              } catch (Exception e) {
                throw new IllegalStateException(e);
              }
            },
            name);
    thread.start();
    return thread;
  }

  private static void nap(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  public static void main(String[] args) throws Exception {
    System.out.println("ready");
    System.in.read();
    for (int i = 0; i < Runtime.getRuntime().availableProcessors(); i++) {
      start(
          "busy-" + i,
          () -> {
            long sum = 0;
            while (!over) {
              sum += 1;
            }
          });
    }
    List<Thread> all = new ArrayList<>();
    all.add(
        start(
            "sleeper",
            () -> {
              for (int i = 0; i < ROUNDS; i++) {
                nap(NAP);
              }
            }));
    all.add(
        start(
            "timed",
            () -> {
              Object nobodys = new Object();
              synchronized (nobodys) {
                for (int i = 0; i < ROUNDS; i++) {
                  nobodys.wait(NAP);
                }
              }
            }));
    Thread parker =
        start(
            "parker",
            () -> {
              while (!over) {
                LockSupport.park();
              }
            });
    all.add(
        start(
            "unparker",
            () -> {
              for (int i = 0; i < ROUNDS; i++) {
                nap(NAP);
                LockSupport.unpark(parker);
              }
            }));
    ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    all.add(
        start(
            "answerer",
            () -> {
              try (Socket socket = server.accept()) {
                InputStream in = socket.getInputStream();
                OutputStream out = socket.getOutputStream();
                for (int i = 0; i < ROUNDS; i++) {
                  int asked = in.read();
                  nap(NAP);
                  out.write(asked);
                }
              }
            }));
    all.add(
        start(
            "asker",
            () -> {
              try (Socket socket = new Socket(server.getInetAddress(), server.getLocalPort())) {
                for (int i = 0; i < ROUNDS; i++) {
                  socket.getOutputStream().write(i);
                  socket.getInputStream().read();
                }
              }
            }));
    all.add(
        start(
            "reader",
            () -> {
              Path path = Path.of(args[0]);
              try (FileChannel file =
                  FileChannel.open(path, StandardOpenOption.READ, ExtendedOpenOption.DIRECT)) {
                ByteBuffer buffer = ByteBuffer.allocateDirect(2 * BLOCK).alignedSlice(4096);
                for (int i = 0; i < ROUNDS; i++) {
                  buffer.clear().limit(BLOCK);
                  file.read(buffer, (long) (i * 37 % 64) * BLOCK);
                }
              }
            }));
    for (Thread thread : all) {
      thread.join();
    }
    over = true;
    LockSupport.unpark(parker);
    System.out.println("done");
    System.in.read();
  }
}
