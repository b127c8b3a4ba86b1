package org.fathom.calls;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.RandomAccessFile;
import java.io.Writer;
import java.lang.instrument.Instrumentation;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * One {@code fathom method} on this JVM, from attach to the last class that is put back.
 *
 * <p>Two pipes lead to fathom. When it ends, however it ends, the kernel closes its ends: reading
 * finds the end, and the session puts everything back. One that is stopped and not killed says
 * nothing for {@link #PATIENCE_NS}, which counts as an end, too.
 *
 * <p>Lines of the answer: a letter and fields between tabs
 * ({@code crates/capture/src/methods/agent/wire.rs} reads them).
 */
public final class Session implements Runnable {
  /** What the reader on the other side must know. */
  private static final int PROTOCOL = 1;
  /** Fathom asks or says that it lives once a second. */
  private static final long PATIENCE_NS = 15_000_000_000L;
  /** How often it is looked whether methods are called too often, and whether fathom lives. */
  private static final long GUARD_MS = 100;
  /** The rate is that of so long: a burst is no reason. */
  private static final long RATE_OF_NS = 400_000_000L;
  /** Threads that have ended and keep their names. */
  private static final int MOST_ENDED = 4096;
  /** Lines that wait for the next report. */
  private static final int MOST_NEWS = 1000;

  private final Path folder;
  private final Instrumentation instrumentation;
  private final URLClassLoader loader;
  private final List<Wanted> wanted = new ArrayList<>();
  private final List<Calls.Counts> ended = new ArrayList<>();
  private final List<String> news = new ArrayList<>();
  private long mostCallsPerSecond = Long.MAX_VALUE, slowNs = Long.MAX_VALUE;
  private Writer out;
  private Weaver weaver;
  private Thread guard;
  private volatile long heardAt = System.nanoTime();
  private volatile boolean isOver;

  private Session(Path folder, Instrumentation instrumentation, URLClassLoader loader) {
    this.folder = folder;
    this.instrumentation = instrumentation;
    this.loader = loader;
  }

  /** Begins a session on threads of its own. */
  public static void begin(Path folder, Instrumentation instrumentation, URLClassLoader loader) {
    start(new Session(folder, instrumentation, loader), "fathom-calls");
  }

  private static Thread start(Runnable run, String name) {
    Thread thread = new Thread(run, name);
    thread.setDaemon(true);
    thread.setContextClassLoader(null);
    thread.start();
    return thread;
  }

  @Override
  public void run() {
    try (URLClassLoader toClose = loader;
        FileInputStream asked = open("asked");
        FileOutputStream said = openToWrite("said")) {
      out = new BufferedWriter(new OutputStreamWriter(said, StandardCharsets.UTF_8), 1 << 16);
      count(new BufferedReader(new InputStreamReader(asked, StandardCharsets.UTF_8)));
    } catch (IOException | RuntimeException | LinkageError ended) {
      // There is nobody to say it to. What was woven has been put back.
    } finally {
      removeFolder();
    }
  }

  /** Fathom does this at its end, unless it was killed. */
  private void removeFolder() {
    for (String name : new String[] {"asked", "said", "asked-for", "fathom-calls.jar", "failed", ""}) {
      try {
        Files.deleteIfExists(folder.resolve(name));
      } catch (IOException other) {
        // Something else lies there by now.
      }
    }
  }

  /**
   * A pipe opens when its other side does; with both sides of our own it does so at once, also when
   * fathom is gone by now.
   */
  private FileInputStream open(String name) throws IOException {
    try (RandomAccessFile both = new RandomAccessFile(folder.resolve(name).toFile(), "rw")) {
      return new FileInputStream(folder.resolve(name).toFile());
    }
  }

  private FileOutputStream openToWrite(String name) throws IOException {
    try (RandomAccessFile both = new RandomAccessFile(folder.resolve(name).toFile(), "rw")) {
      return new FileOutputStream(folder.resolve(name).toFile());
    }
  }

  private void count(BufferedReader asked) throws IOException {
    readConfiguration();
    int version;
    try {
      // Not the constant, which the compiler would copy from the class that it saw.
      version = Calls.class.getField("VERSION").getInt(null);
    } catch (ReflectiveOperationException other) {
      version = -1;
    }
    if (version != Calls.VERSION) {
      say("failed\tanother version of fathom has left its classes in this JVM; it can count again when the JVM was started anew");
      return;
    }
    int number = (int) System.nanoTime() | 1;
    if (!Calls.begin(number, slowNs)) {
      say("failed\tanother fathom method --way agent counts in this JVM");
      return;
    }
    weaver = new Weaver(instrumentation, wanted, this::news);
    try {
      say("hello\t" + PROTOCOL + "\t" + System.nanoTime());
      long begun = System.nanoTime();
      weaver.begin();
      say("ready\t" + (System.nanoTime() - begun) + "\t" + instrumentation.getAllLoadedClasses().length);
      guard = start(this::guard, "fathom-calls-guard");
      for (String line = asked.readLine(); line != null && !isOver; line = asked.readLine()) {
        heardAt = System.nanoTime();
        if (line.equals("report")) {
          report();
        } else if (line.equals("stop")) {
          isOver = true;
          // Counts to the last call: first nothing is woven any more, then they are read.
          weaver.end();
          report();
          say("over");
        }
      }
    } finally {
      putBack();
    }
  }

  /** Makes all classes as they were, once. */
  private synchronized void putBack() {
    isOver = true;
    if (weaver != null) {
      weaver.end();
      weaver = null;
      Calls.end();
    }
  }

  private void readConfiguration() throws IOException {
    for (String line : Files.readAllLines(folder.resolve("asked-for"), StandardCharsets.UTF_8)) {
      String[] words = line.split("\t", -1);
      switch (words[0]) {
        case "method":
          wanted.add(new Wanted(words[1], words[2], words[3]));
          break;
        case "most-calls":
          mostCallsPerSecond = Long.parseLong(words[1]);
          break;
        case "slow-ns":
          slowNs = Long.parseLong(words[1]);
          break;
        default:
          // Of a later fathom.
      }
    }
  }

  /**
   * Looks every little while whether methods are called too often, whether classes came, and
   * whether fathom still asks.
   */
  private void guard() {
    List<long[]> sums = new ArrayList<>();
    while (!isOver) {
      try {
        Thread.sleep(GUARD_MS);
      } catch (InterruptedException stranger) {
        // Nobody of ours: it goes on.
      }
      Weaver weaving = weaver;
      if (weaving == null) {
        return;
      }
      try {
        if (System.nanoTime() - heardAt > PATIENCE_NS) {
          putBack();
          return;
        }
        weaving.lookAgainIfNeeded();
        guardRate(weaving, sums);
      } catch (RuntimeException | LinkageError failed) {
        news("failed\t" + plain(failed.toString()));
        putBack();
        return;
      }
    }
  }

  private void guardRate(Weaver weaving, List<long[]> sums) {
    int methods = weaving.names().size();
    long[] now = new long[Calls.MOST_METHODS + 1];
    now[Calls.MOST_METHODS] = System.nanoTime();
    synchronized (ended) {
      for (Calls.Counts counts : everything()) {
        for (int method = 0; method < methods; method++) {
          Calls.Cell cell = counts.of(method);
          now[method] += cell == null ? 0 : cell.calls;
        }
      }
    }
    sums.add(now);
    while (sums.size() > 1 && now[Calls.MOST_METHODS] - sums.get(1)[Calls.MOST_METHODS] >= RATE_OF_NS) {
      sums.remove(0);
    }
    long[] then = sums.get(0);
    double seconds = (now[Calls.MOST_METHODS] - then[Calls.MOST_METHODS]) / 1e9;
    long all = 0;
    int hottest = -1;
    for (int method = 0; method < methods; method++) {
      long more = now[method] - then[method];
      all += more;
      if (!weaving.isLetGoOf(method) && (hottest < 0 || more > now[hottest] - then[hottest])) {
        hottest = method;
      }
    }
    if (seconds * 1e9 < RATE_OF_NS / 2.0 || hottest < 0 || all / seconds <= mostCallsPerSecond) {
      return;
    }
    weaving.letGoOf(hottest);
    sums.clear();
    news("hot\t" + hottest + "\t" + (long) (all / seconds) + "\t" + plain(weaving.names().get(hottest)));
  }

  /** Counts of all threads. With {@code ended} held. */
  private List<Calls.Counts> everything() {
    ended.addAll(Calls.takeEnded());
    List<Calls.Counts> all = Calls.all();
    all.addAll(ended);
    return all;
  }

  private void report() throws IOException {
    Weaver weaving = weaver;
    if (weaving == null) {
      return;
    }
    synchronized (news) {
      for (String line : news) {
        out.append(line).append('\n');
      }
      news.clear();
    }
    List<String> names = weaving.names();
    List<Calls.Counts> all;
    synchronized (ended) {
      all = everything();
    }
    String[] callers = Calls.callers();
    StringBuilder text = new StringBuilder();
    for (int method = 0; method < names.size(); method++) {
      boolean isLetGoOf = weaving.isLetGoOf(method);
      text.append("M\t").append(method).append('\t').append(isLetGoOf ? "hot" : "woven").append('\t');
      text.append(plain(names.get(method))).append('\n');
      Sums sums = new Sums();
      for (int i = 0; i < all.size(); i++) {
        Calls.Counts counts = all.get(i);
        Calls.Cell cell = counts.of(method);
        if (cell != null && cell.calls > 0) {
          sums.add(cell);
          String thread = i < MOST_ENDED || !counts.hasEnded() ? counts.thread : "";
          text.append("T\t").append(counts.threadId).append('\t').append(cell.calls).append('\t').append(plain(thread)).append('\n');
        }
      }
      sums.write(text, callers);
      flush(text);
    }
    for (Calls.Slow slow : Calls.takeSlow()) {
      text.append("S\t").append(slow.method).append('\t').append(slow.threadId).append('\t').append(slow.begun).append('\t');
      text.append(slow.ns).append('\t').append(plain(slow.thread)).append('\n');
      for (String frame : slow.stack) {
        text.append("F\t").append(plain(frame)).append('\n');
      }
      flush(text);
    }
    text.append("E\t").append(weaving.leftOut()).append('\t').append(Calls.slowLeftOut()).append('\n');
    flush(text);
  }

  private void flush(StringBuilder text) throws IOException {
    out.append(text);
    out.flush();
    text.setLength(0);
  }

  private void say(String line) throws IOException {
    out.append(line).append('\n');
    out.flush();
  }

  /** Is said with the next report: the guard must never wait for a fathom that does not read. */
  private void news(String line) {
    synchronized (news) {
      if (news.size() < MOST_NEWS) {
        news.add(line);
      }
    }
  }

  /** A text as a field of a line. */
  static String plain(String text) {
    StringBuilder plain = new StringBuilder(text.length());
    for (int i = 0; i < text.length() && i < 2000; i++) {
      char c = text.charAt(i);
      plain.append(c < ' ' || c == 0x7f ? '?' : c);
    }
    return plain.toString();
  }

  /** Counts of one method by all threads. */
  private static final class Sums {
    private long thrown, unknown;
    private final Spread all = new Spread();
    private final List<Spread> byCaller = new ArrayList<>();

    void add(Calls.Cell cell) {
      thrown += cell.thrown;
      unknown += cell.unknown;
      all.add(cell.times);
      Calls.Caller[] callers = cell.callers();
      for (int i = 0; i < callers.length; i++) {
        while (byCaller.size() <= i) {
          byCaller.add(new Spread());
        }
        if (callers[i] != null) {
          Spread spread = byCaller.get(i);
          spread.calls += callers[i].calls;
          spread.walks += callers[i].walks;
          spread.add(callers[i].times);
        }
      }
    }

    void write(StringBuilder text, String[] names) {
      text.append("D\t").append(thrown).append('\t').append(unknown).append('\t');
      all.write(text);
      text.append('\n');
      for (int i = 0; i < byCaller.size(); i++) {
        Spread spread = byCaller.get(i);
        if (spread.calls > 0) {
          String name = i < names.length && names[i] != null ? names[i] : "";
          text.append("C\t").append(spread.calls).append('\t').append(spread.walks).append('\t');
          spread.write(text);
          text.append('\t').append(plain(name)).append('\n');
        }
      }
    }
  }

  /** Durations of several threads together. */
  private static final class Spread {
    private long calls, walks, count, sum, max;
    private final long[] buckets = new long[Times.BUCKETS];

    void add(Times times) {
      count += times.count;
      sum += times.sum;
      max = Math.max(max, times.max);
      for (int i = 0; i < buckets.length; i++) {
        buckets[i] += times.in(i);
      }
    }

    void write(StringBuilder text) {
      text.append(count).append('\t').append(sum).append('\t').append(max).append('\t');
      boolean isFirst = true;
      for (int i = 0; i < buckets.length; i++) {
        if (buckets[i] > 0) {
          text.append(isFirst ? "" : ",").append(Times.from(i)).append(':').append(buckets[i]);
          isFirst = false;
        }
      }
    }
  }
}
