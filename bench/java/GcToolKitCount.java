import com.microsoft.gctoolkit.GCToolKit;
import com.microsoft.gctoolkit.aggregator.Aggregates;
import com.microsoft.gctoolkit.aggregator.Aggregation;
import com.microsoft.gctoolkit.aggregator.Aggregator;
import com.microsoft.gctoolkit.aggregator.Collates;
import com.microsoft.gctoolkit.aggregator.EventSource;
import com.microsoft.gctoolkit.event.g1gc.G1GCPauseEvent;
import com.microsoft.gctoolkit.event.generational.GenerationalGCPauseEvent;
import com.microsoft.gctoolkit.io.SingleGCLogFile;
import com.microsoft.gctoolkit.jvm.JavaVirtualMachine;
import java.nio.file.Path;

/** Counts pauses and their total with GCToolKit's API, the least that a user of it would do. */
public final class GcToolKitCount {
  @Collates(Pauses.class)
  public static class Total extends Aggregation {
    long count;
    double seconds;

    synchronized void add(double duration) {
      count++;
      seconds += duration;
    }

    @Override
    public boolean hasWarning() {
      return false;
    }

    @Override
    public boolean isEmpty() {
      return count == 0;
    }
  }

  @Aggregates({EventSource.G1GC, EventSource.GENERATIONAL})
  public static class Pauses extends Aggregator<Total> {
    public Pauses(Total total) {
      super(total);
      register(G1GCPauseEvent.class, event -> total.add(event.getDuration()));
      register(GenerationalGCPauseEvent.class, event -> total.add(event.getDuration()));
    }
  }

  public static void main(String[] args) throws Exception {
    GCToolKit toolkit = new GCToolKit();
    toolkit.loadAggregation(new Total());
    JavaVirtualMachine jvm = toolkit.analyze(new SingleGCLogFile(Path.of(args[0])));
    jvm.getAggregation(Total.class)
        .ifPresentOrElse(
            total -> System.out.printf("%d pauses, %.6f s%n", total.count, total.seconds),
            () -> System.out.println("no aggregation"));
  }
}
