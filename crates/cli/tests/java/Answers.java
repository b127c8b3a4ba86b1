import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/**
 * A server that answers each request after a time that is known, over one connection from
 * before the recording and one from within it, and clients of it in the same process, whose
 * connections were not accepted. Some ask at another port, at which nobody answers.
 */
public final class Answers {
  private static final int ROUNDS = 100;
  private static final int HELD_MS = 20;
  private static final int GIVEN_UP = 20;
  private static final int GIVEN_UP_MS = 50;

  private Answers() {}

  private static void serve(Socket socket) {
    try (socket) {
      InputStream in = socket.getInputStream();
      OutputStream out = socket.getOutputStream();
      // Nobody has asked for it.
      out.write("hello".getBytes());
      byte[] request = new byte[5];
      while (in.readNBytes(request, 0, 1) == 1) {
        Thread.sleep(HELD_MS / 2);
        // The rest of a request that comes in two parts does not begin another one.
        in.readNBytes(request, 1, 4);
        Thread.sleep(HELD_MS / 2);
        out.write(1);
        // The rest of an answer is none of its own.
        out.write(2);
      }
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static Socket connect(ServerSocket server) throws Exception {
    Socket socket = new Socket(server.getInetAddress(), server.getLocalPort());
    socket.setTcpNoDelay(true);
    socket.getInputStream().readNBytes(5);
    return socket;
  }

  private static void ask(Socket socket) throws Exception {
    for (int i = 0; i < ROUNDS; i++) {
      socket.getOutputStream().write("12345".getBytes());
      socket.getInputStream().readNBytes(2);
    }
  }

  /** Asks whoever never answers, and gives each call up. */
  private static void giveUp(ServerSocket silent) throws Exception {
    for (int i = 0; i < GIVEN_UP; i++) {
      try (Socket socket = new Socket(silent.getInetAddress(), silent.getLocalPort())) {
        socket.getOutputStream().write("12345".getBytes());
        Thread.sleep(GIVEN_UP_MS);
        // The end of a conversation asks for no answer.
      }
      try (Socket socket = new Socket(silent.getInetAddress(), silent.getLocalPort())) {
        socket.getOutputStream().write("bye".getBytes());
      }
    }
  }

  public static void main(String[] args) throws Exception {
    ServerSocket server = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
    Thread acceptor =
        new Thread(
            () -> {
              while (true) {
                try {
                  Socket socket = server.accept();
                  socket.setTcpNoDelay(true);
                  new Thread(() -> serve(socket)).start();
                } catch (Exception e) {
                  return;
                }
              }
            });
    acceptor.setDaemon(true);
    acceptor.start();
    try (Socket early = connect(server)) {
      System.out.println("ready");
      System.in.read();
      ask(early);
      try (Socket late = connect(server)) {
        ask(late);
      }
      try (ServerSocket silent = new ServerSocket(0, 100, InetAddress.getLoopbackAddress())) {
        giveUp(silent);
      }
      System.out.println("done");
      System.in.read();
    }
    server.close();
  }
}
