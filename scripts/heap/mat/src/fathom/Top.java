package fathom;

import java.io.File;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.PriorityQueue;
import org.eclipse.equinox.app.IApplication;
import org.eclipse.equinox.app.IApplicationContext;
import org.eclipse.mat.snapshot.ISnapshot;
import org.eclipse.mat.snapshot.SnapshotFactory;
import org.eclipse.mat.util.ConsoleProgressListener;

/**
 * Prints the objects that keep most, as Eclipse MAT computes it: address, retained, shallow, class.
 * Arguments, three by three: a dump, how many objects, the file to write.
 */
public class Top implements IApplication {
  @Override
  public Object start(IApplicationContext context) {
    String[] args = (String[]) context.getArguments().get(IApplicationContext.APPLICATION_ARGS);
    for (int i = 0; i + 2 < args.length; i += 3) {
      try {
        print(args[i], Integer.parseInt(args[i + 1]), args[i + 2]);
      } catch (Exception e) {
        System.err.println(args[i] + ": " + e);
      }
    }
    // Whoever waits for the workbench to be closed would wait for ever.
    System.exit(0);
    return EXIT_OK;
  }

  private static void print(String dump, int most, String to) throws Exception {
    long begun = System.nanoTime();
    var quiet = new ConsoleProgressListener(new PrintStream(OutputStream.nullOutputStream()));
    ISnapshot snapshot = SnapshotFactory.openSnapshot(new File(dump), new HashMap<>(), quiet);
    double seconds = (System.nanoTime() - begun) / 1e9;
    System.err.printf("%s: %.1f s, %d objects%n", dump, seconds, snapshot.getSnapshotInfo().getNumberOfObjects());
    var largest = new PriorityQueue<long[]>((a, b) -> Long.compare(a[1], b[1]));
    var left = new ArrayDeque<int[]>();
    left.push(snapshot.getImmediateDominatedIds(-1));
    while (!left.isEmpty()) {
      for (int id : left.pop()) {
        long retained = snapshot.getRetainedHeapSize(id);
        if (largest.size() == most && retained <= largest.peek()[1]) {
          continue;
        }
        largest.add(new long[] {id, retained});
        if (largest.size() > most) {
          largest.poll();
        }
        left.push(snapshot.getImmediateDominatedIds(id));
      }
    }
    List<long[]> sorted = new ArrayList<>(largest);
    sorted.sort((a, b) -> Long.compare(b[1], a[1]));
    try (var out = new PrintStream(to)) {
      for (long[] object : sorted) {
        int id = (int) object[0];
        String name = snapshot.getClassOf(id).getName();
        int by = snapshot.getImmediateDominatorId(id);
        long dominator = by < 0 ? 0 : snapshot.mapIdToAddress(by);
        out.printf(
            "%#x %d %d %#x %s%n", snapshot.mapIdToAddress(id), object[1], snapshot.getHeapSize(id), dominator, name);
      }
    }
    SnapshotFactory.dispose(snapshot);
  }

  @Override
  public void stop() {}
}
