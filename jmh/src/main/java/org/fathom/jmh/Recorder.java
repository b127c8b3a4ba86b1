package org.fathom.jmh;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** {@code fathom record} of this JVM, while it runs. */
final class Recorder {
  /** What it says when everything is attached. */
  private static final String ATTACHED = "fathom: recording ";
  /** Attaching takes a second or two, on a busy machine with many processes more. */
  private static final long ATTACH_S = 120;
  /** Making the tables of a long recording takes as long as reading it. */
  private static final long END_S = 600;
  /** Lines that are kept for when it fails. */
  private static final int MOST_LINES = 200;

  private final Process process;
  private final Path recording;
  private final List<String> said = new ArrayList<>();
  private final CountDownLatch attached = new CountDownLatch(1);
  private final Thread reader;

  private Recorder(Process process, Path recording) {
    this.process = process;
    this.recording = recording;
    this.reader = new Thread(this::read, "fathom-jmh");
    reader.setDaemon(true);
  }

  /** The id of this process. {@code ProcessHandle} is of Java 9. */
  static String pid() {
    return ManagementFactory.getRuntimeMXBean().getName().split("@")[0];
  }

  /** Starts recording, and returns when everything is attached. */
  static Recorder start(Options options, Path place) throws IOException {
    List<String> words = new ArrayList<>(Arrays.asList(options.program, "record", "-p", pid(), "-o", place.toString()));
    words.addAll(options.record);
    Process process = new ProcessBuilder(words).redirectErrorStream(true).start();
    process.getOutputStream().close();
    Recorder recorder = new Recorder(process, place);
    recorder.reader.start();
    try {
      if (!recorder.attached.await(ATTACH_S, TimeUnit.SECONDS) || !process.isAlive()) {
        process.destroy();
        throw new IOException(recorder.said("fathom record did not begin"));
      }
    } catch (InterruptedException e) {
      process.destroy();
      Thread.currentThread().interrupt();
      throw new IOException("interrupted before fathom record began", e);
    }
    return recorder;
  }

  private void read() {
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        synchronized (said) {
          if (said.size() < MOST_LINES) {
            said.add(line);
          }
        }
        if (line.startsWith(ATTACHED)) {
          attached.countDown();
        }
      }
    } catch (IOException e) {
      // It has ended; what it said until then is there.
    } finally {
      attached.countDown();
    }
  }

  /** Ends the recording in order, and gives it. */
  Path end() throws IOException {
    // SIGTERM, which fathom takes as the end of the recording.
    process.destroy();
    try {
      if (!process.waitFor(END_S, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        throw new IOException(said("fathom record did not end"));
      }
      reader.join(TimeUnit.SECONDS.toMillis(5));
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while fathom record ended", e);
    }
    if (process.exitValue() != 0 || !Files.exists(recording)) {
      throw new IOException(said("fathom record ended with status " + process.exitValue()));
    }
    return recording;
  }

  private String said(String what) {
    synchronized (said) {
      return what + (said.isEmpty() ? "" : ":\n  " + String.join("\n  ", said));
    }
  }
}
