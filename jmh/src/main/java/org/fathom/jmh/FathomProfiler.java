package org.fathom.jmh;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Collections;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.profile.ProfilerException;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.TextResult;
import org.openjdk.jmh.runner.IterationType;

/**
 * Has each measured JVM recorded by {@code fathom record} from the first measured iteration to the
 * end of the last one, and puts what the recording says into JMH's report.
 *
 * <p>It is a profiler within the measured JVM and not around it, because only there it is known
 * when warming up is over. What it does in that JVM is before the first measured iteration, between
 * iterations and behind the last one: it starts a process, writes some lines and reads what another
 * process prints. The recording is made from outside.
 */
public class FathomProfiler implements InternalProfiler {
  private final Options options;
  private Recorder recorder;
  private Operations operations;
  private int iterations;
  private long beganMs;
  private String failure = "";

  protected FathomProfiler() {
    this.options = null;
  }

  protected FathomProfiler(String line) throws ProfilerException {
    this.options = Options.of(line);
    options.check();
  }

  @Override
  public String getDescription() {
    return "fathom: what the measured iterations spent their time on, and what they waited for";
  }

  @Override
  public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
    if (iteration.getType() != IterationType.MEASUREMENT) {
      return;
    }
    if (iterations == 0) {
      begin(benchmark);
    }
    beganMs = System.currentTimeMillis();
  }

  private void begin(BenchmarkParams benchmark) {
    failure = "";
    try {
      Path place = options.place(benchmark);
      operations = new Operations(place);
      recorder = Recorder.start(options, place);
    } catch (IOException e) {
      // A benchmark that cannot be explained is measured all the same, and the report says why.
      failure = e.getMessage();
      recorder = null;
    }
  }

  @Override
  public Collection<? extends Result<?>> afterIteration(
      BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
    if (iteration.getType() != IterationType.MEASUREMENT) {
      return Collections.emptyList();
    }
    long endedMs = System.currentTimeMillis();
    iterations++;
    if (operations != null) {
      operations.add(beganMs, endedMs, result.getMetadata().getAllOps());
    }
    if (iterations < iteration.getCount()) {
      return Collections.emptyList();
    }
    int measured = iterations;
    iterations = 0;
    return Collections.singleton(new TextResult(explained(measured), "fathom"));
  }

  private String explained(int measured) {
    if (recorder == null) {
      return "fathom recorded nothing: " + failure + "\n";
    }
    try {
      Path recording = recorder.end();
      return new Explanation(options, recording, operations.write(), measured).text();
    } catch (IOException e) {
      return "fathom recorded nothing: " + e.getMessage() + "\n";
    } finally {
      recorder = null;
    }
  }
}
