import org.fathom.jmh.FathomProfiler;
import org.openjdk.jmh.profile.ProfilerException;

/**
 * What {@code -prof fathom} names. JMH looks a profiler that is not its own up by the name of its
 * class, so that the short name is a class of the unnamed package.
 */
public final class fathom extends FathomProfiler {
  /** For JMH's list of profilers ({@code -lprof}), which calls nothing of it. */
  public fathom() {
    super();
  }

  /** With what stands behind the colon of {@code -prof fathom:…}. */
  public fathom(String options) throws ProfilerException {
    super(options);
  }
}
