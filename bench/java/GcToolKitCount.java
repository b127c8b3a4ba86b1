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
  public abstract static class Count extends Aggregation {
    private long count;
    private double seconds;

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

  @Collates(G1Pauses.class)
  public static class G1 extends Count {}

  @Aggregates(EventSource.G1GC)
  public static class G1Pauses extends Aggregator<G1> {
    public G1Pauses(G1 total) {
      super(total);
      register(G1GCPauseEvent.class, event -> total.add(event.getDuration()));
    }
  }

  @Collates(GenerationalPauses.class)
  public static class Generational extends Count {}

  @Aggregates(EventSource.GENERATIONAL)
  public static class GenerationalPauses extends Aggregator<Generational> {
    public GenerationalPauses(Generational total) {
      super(total);
      register(GenerationalGCPauseEvent.class, event -> total.add(event.getDuration()));
    }
  }

  /**
   * {@code GcToolKitCount G1|Generational LOG}. One aggregator bound to two sources returns early
   * with a part of the data, so the collector is named.
   */
  public static void main(String[] args) throws Exception {
    Count count = args[0].equals("G1") ? new G1() : new Generational();
    GCToolKit toolkit = new GCToolKit();
    toolkit.loadAggregation(count);
    JavaVirtualMachine jvm = toolkit.analyze(new SingleGCLogFile(Path.of(args[1])));
    if (jvm.getAggregation(count.getClass()).isPresent()) {
      System.out.printf("%d pauses, %.6f s%n", count.count, count.seconds);
    } else {
      System.out.println("no aggregation");
    }
  }
}
