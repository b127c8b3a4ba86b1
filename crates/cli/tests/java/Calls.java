import java.io.FileOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * System calls and connections that are known by construction. Each step prints what it did
 * and how long it took.
 */
public class Calls {
  /** What a step does. */
  interface Step {
    void run() throws Exception;
  }

  public static void main(String[] args) throws Exception {
    Path dir = Path.of(args[0]);
    // Until whoever watches is ready.
    while (!Files.exists(dir.resolve("go"))) {
      Thread.sleep(50);
    }
    if (args.length > 1) {
      for (int i = 1; i < args.length; i++) {
        String host = args[i];
        step("resolver", host, () -> resolve(host));
      }
      return;
    }
    step("writer", "", () -> writeMany(dir.resolve("many.dat")));
    step("syncer", "", () -> sync(dir.resolve("synced.dat")));
    readLate();
    refused();
    unanswered();
  }

  static void writeMany(Path file) throws IOException {
    try (FileOutputStream out = new FileOutputStream(file.toFile())) {
      for (int i = 0; i < 10_000; i++) {
        out.write(7);
      }
    }
  }

  static void sync(Path file) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(1 << 20);
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      for (int i = 0; i < 10; i++) {
        bytes.clear();
        channel.write(bytes);
        channel.force(true);
      }
    }
  }

  static void readLate() throws Exception {
    try (ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
      Thread late =
          new Thread(
              () -> {
                try (Socket socket = server.accept()) {
                  Thread.sleep(400);
                  socket.getOutputStream().write(7);
                  // The client closes the connection a moment later.
                  socket.getInputStream().read();
                } catch (Exception e) {
                  throw new IllegalStateException(e);
                }
              },
              "answerer");
      late.start();
      step("reader", "127.0.0.1:" + server.getLocalPort(), () -> read(server.getLocalPort()));
      late.join();
    }
  }

  static void read(int port) throws IOException, InterruptedException {
    try (Socket socket = new Socket("127.0.0.1", port)) {
      socket.getInputStream().read();
      Thread.sleep(200);
    }
  }

  static void refused() throws Exception {
    int port;
    try (ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
      port = server.getLocalPort();
    }
    step("refused", "127.0.0.1:" + port, () -> connect(port, 5_000).close());
  }

  /**
   * A server that does not accept: its queue is filled, and what comes after that is not answered.
   */
  static void unanswered() throws Exception {
    List<Socket> open = new ArrayList<>();
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      int port = server.getLocalPort();
      for (int i = 0; i < 2; i++) {
        open.add(connect(port, 2_000));
      }
      step("unanswered", "127.0.0.1:" + port, () -> open.add(connect(port, 2_600)));
    }
    for (Socket socket : open) {
      socket.close();
    }
  }

  static Socket connect(int port, int timeoutMs) throws IOException {
    Socket socket = new Socket();
    try {
      socket.connect(new InetSocketAddress("127.0.0.1", port), timeoutMs);
    } catch (IOException e) {
      socket.close();
      throw e;
    }
    return socket;
  }

  static void resolve(String host) throws IOException {
    InetAddress.getByName(host);
  }

  /** A thread is known by its name when it has lived for a moment. */
  static void pause() {
    try {
      Thread.sleep(500);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  static void step(String name, String what, Step step) throws Exception {
    String[] told = new String[1];
    Thread thread =
        new Thread(
            () -> {
              pause();
              long begin = System.nanoTime();
              String outcome = "done";
              try {
                step.run();
              } catch (Exception e) {
                outcome = e.getClass().getSimpleName();
              }
              told[0] = (System.nanoTime() - begin) + " " + outcome;
            },
            name);
    thread.start();
    thread.join();
    // Printed here: the thread makes no calls but those of its step.
    System.out.println("step " + name + " " + told[0] + " " + what);
  }
}
