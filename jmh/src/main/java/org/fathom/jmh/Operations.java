package org.fathom.jmh;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * The operations of the measured iterations as a table of throughput, which fathom
 * reads with the recording.
 */
final class Operations {
  /** Longer iterations are divided, so that a row is about a second. */
  private static final long TICK_MS = 1000;

  private final Path place;
  private final StringBuilder rows = new StringBuilder("time_ms,throughput(ops/s)\n");

  Operations(Path recording) {
    String name = recording.getFileName().toString();
    this.place = recording.resolveSibling(name.substring(0, name.lastIndexOf('.')) + ".csv");
  }

  /** An iteration between two moments since the epoch, milliseconds. */
  void add(long fromMs, long toMs, long operations) {
    long length = Math.max(1, toMs - fromMs);
    long ticks = Math.max(1, Math.round((double) length / TICK_MS));
    double rate = operations * 1000.0 / length;
    for (long tick = 1; tick <= ticks; tick++) {
      // A row covers the time up to its stamp.
      rows.append(fromMs + length * tick / ticks).append(',');
      rows.append(String.format(Locale.ROOT, "%.6f", rate)).append('\n');
    }
  }

  Path write() throws IOException {
    Files.write(place, rows.toString().getBytes(StandardCharsets.UTF_8));
    return place;
  }
}
