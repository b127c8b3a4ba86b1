import java.io.InputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Virtual threads (JDK 21 on) of which known numbers sleep, wait for a lock, at a queue and at a
 * socket; others never rest.
 */
public class Parked {
  static final ReentrantLock LOCK = new ReentrantLock();
  static final Object MONITOR = new Object();
  static final LinkedBlockingQueue<Object> QUEUE = new LinkedBlockingQueue<>();
  /** The other ends: one that nothing refers to is closed. */
  static final List<Socket> ENDS = new ArrayList<>();
  static volatile long switches;

  static void sleeps() throws Exception {
    Thread.sleep(600_000);
  }

  static void locks() {
    LOCK.lock();
    LOCK.unlock();
  }

  static void enters() {
    synchronized (MONITOR) {
      switches++;
    }
  }

  static void takes() throws Exception {
    QUEUE.take();
  }

  static void reads(InputStream in) throws Exception {
    in.read();
  }

  static void rests() {
    while (true) {
      LockSupport.parkNanos(200_000);
      switches++;
    }
  }

  interface Work {
    void run() throws Exception;
  }

  static Runnable of(Work work) {
    return () -> {
      try {
        work.run();
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    };
  }

  static void start(int count, Work work) throws Exception {
    for (int i = 0; i < count; i++) {
      // By reflection, because the program is compiled for JDK 8.
      Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, of(work));
    }
  }

  public static void main(String[] args) throws Exception {
    LOCK.lock();
    // Half of the sleepers belong to an executor, whose threads are kept elsewhere.
    ExecutorService executor =
        (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    for (int i = 0; i < 60; i++) {
      executor.execute(of(Parked::sleeps));
    }
    start(60, Parked::sleeps);
    start(60, Parked::locks);
    start(60, Parked::takes);
    ServerSocket server = new ServerSocket(0);
    for (int i = 0; i < 30; i++) {
      Socket socket = new Socket("localhost", server.getLocalPort());
      ENDS.add(server.accept());
      ENDS.add(socket);
      InputStream in = socket.getInputStream();
      start(1, () -> reads(in));
    }
    start(20, Parked::rests);
    synchronized (MONITOR) {
      // Until JDK 23 they would keep all carriers.
      if (args.length > 0) {
        start(30, Parked::enters);
      }
      Thread.sleep(1500);
      System.out.println("ready");
      Thread.sleep(600_000);
    }
  }
}
