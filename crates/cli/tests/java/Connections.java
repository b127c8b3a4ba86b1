import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;

/**
 * Two servers that send without end, each to one client of the same process: one client reads all
 * with a receive buffer of a kilobyte, the other one reads nothing. Three connections to a third
 * server are not accepted. Prints the three ports.
 */
public final class Connections {
  private Connections() {}

  private static ServerSocket listen(int backlog) throws Exception {
    return new ServerSocket(0, backlog, InetAddress.getLoopbackAddress());
  }

  private static Socket connect(ServerSocket server, int buffer) throws Exception {
    Socket socket = new Socket();
    if (buffer > 0) {
      socket.setReceiveBufferSize(buffer);
    }
    socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.getLocalPort()));
    return socket;
  }

  private static void begin(String name, Runnable runs) {
    Thread thread = new Thread(runs, name);
    thread.setDaemon(true);
    thread.start();
  }

  private static void send(Socket socket) {
    try {
      OutputStream out = socket.getOutputStream();
      byte[] page = new byte[100_000];
      while (true) {
        out.write(page);
      }
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static void read(Socket socket) {
    try {
      InputStream in = socket.getInputStream();
      byte[] some = new byte[256];
      while (in.read(some) >= 0) {
        Thread.sleep(1);
      }
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  public static void main(String[] args) throws Exception {
    ServerSocket narrow = listen(50);
    ServerSocket deaf = listen(50);
    ServerSocket busy = listen(5);
    Socket reads = connect(narrow, 1024);
    Socket ignores = connect(deaf, 0);
    Socket sends = narrow.accept();
    Socket fills = deaf.accept();
    begin("sends", () -> send(sends));
    begin("fills", () -> send(fills));
    begin("reads", () -> read(reads));
    Socket[] waiting = {connect(busy, 0), connect(busy, 0), connect(busy, 0)};
    System.out.println(
        "ready " + narrow.getLocalPort() + " " + deaf.getLocalPort() + " " + busy.getLocalPort());
    while (System.in.read() != '\n') {
      Thread.sleep(1);
    }
    System.out.println(ignores.isConnected() && waiting[0].isConnected() ? "done" : "lost");
  }
}
