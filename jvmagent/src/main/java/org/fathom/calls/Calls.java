package org.fathom.calls;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/**
 * What woven methods call: {@link #enter} when they are entered, {@link #exit} when they return.
 *
 * <p>Each thread counts in an object of its own, so that no thread waits for another and nothing is
 * atomic. Virtual threads, of which there may be a million, share some. All calls are counted and
 * timed. Who called is found by walking the stack, which takes a hundred times as long as counting;
 * a thread spends at most a hundredth of its time on that. What it can afford it walks: each call
 * of a method that is called a thousand times a second, of hotter ones a random one of many, which
 * then stands for all calls since the last.
 *
 * <p>Fields are read by another thread while they are written. A value may lag behind, but none
 * is torn (64-bit JVMs).
 *
 * <p>The boot loader has this class, as every other loader must find it, and it
 * stays until the JVM ends.
 */
public final class Calls {
  /**
   * To be raised when the weaver or the reader expects something else of this class: an old
   * one stays in its JVM.
   */
  public static final int VERSION = 2;

  /** Methods that can be counted at the same time. */
  public static final int MOST_METHODS = 256;

  /** Callers that are distinguished; calls of others are counted as of one that is not known. */
  private static final int MOST_CALLERS = 1 << 14;
  /** Slow calls that are kept until somebody asks. */
  private static final int MOST_SLOW = 256;
  /** Frames of a slow call's stack. */
  private static final int MOST_FRAMES = 48;
  /** What of a thread's time may go into walking its stack: one in so many nanoseconds. */
  private static final int SHARE = 100;
  /** So much may be spent at once, by a thread that was quiet before, nanoseconds. */
  private static final long PURSE = 100_000_000;
  /** A walk is taken to have cost no more: what is longer was waiting for a CPU. */
  private static final long LONGEST_WALK = 500_000;
  /**
   * What was drawn for a fast method does not hold for a slow one: after so many
   * nanoseconds it is drawn anew.
   */
  private static final long STALE_NS = 100_000_000;
  /** Objects that virtual threads share. */
  private static final int SHARED = 64;

  private static final ThreadLocal<Counts> OWN = new ThreadLocal<>();
  private static final AtomicReference<Counts> ALL = new AtomicReference<>();
  private static final ConcurrentHashMap<String, Integer> CALLERS = new ConcurrentHashMap<>();
  private static final AtomicInteger CALLER_IDS = new AtomicInteger(1);
  private static final MethodHandle IS_VIRTUAL = isVirtualHandle();
  private static final Walker WALKER = Walker.of();

  /** The session; calls that began in another are not counted. 0: none. */
  private static volatile int session;

  private static volatile long slowNs = Long.MAX_VALUE;
  private static volatile Counts[] shared;
  private static final List<Slow> SLOW = new ArrayList<>();
  private static long slowLeftOut;

  private Calls() {}

  /**
   * A woven method is entered. What it returns is to be given to {@link #exit}; 0: the
   * call is not counted.
   */
  public static long enter(int method) {
    Counts own = OWN.get();
    if (own == null || own.session != session) {
      own = first();
    }
    if (own == null || own.busy) {
      return 0;
    }
    // What counting calls is not counted: it may be woven, too.
    own.busy = true;
    try {
      Counts shared = own.shared;
      if (shared == null) {
        return own.enter(method);
      }
      synchronized (shared) {
        return shared.enter(method);
      }
    } catch (Throwable noRoom) {
      // No heap or no stack is left, and the program shall find that out by itself.
      return 0;
    } finally {
      own.busy = false;
    }
  }

  /** A woven method returns. */
  public static void exit(int method, long begun) {
    exit(method, begun, false);
  }

  /** A woven method ends by an exception. */
  public static void thrown(int method, long begun) {
    exit(method, begun, true);
  }

  private static void exit(int method, long begun, boolean thrown) {
    if (begun == 0) {
      return;
    }
    Counts own = OWN.get();
    if (own == null || own.busy || own.session != session) {
      return;
    }
    own.busy = true;
    try {
      Counts shared = own.shared;
      long ns;
      if (shared == null) {
        ns = own.exit(method, begun, thrown);
      } else {
        synchronized (shared) {
          ns = shared.exit(method, begun, thrown);
        }
      }
      if (ns >= slowNs) {
        slow(method, begun, ns);
      }
    } catch (Throwable noRoom) {
      // As above.
    } finally {
      own.busy = false;
    }
  }

  /** The first call of a thread in this session. */
  private static Counts first() {
    int now = session;
    if (now == 0) {
      return null;
    }
    Thread thread = Thread.currentThread();
    Counts own = new Counts(now);
    // Busy until it is whole: what this calls may be woven, too.
    own.busy = true;
    OWN.set(own);
    Counts[] some = shared;
    if (some != null && isVirtual(thread)) {
      own.shared = some[(int) (thread.getId() & (SHARED - 1))];
    } else {
      own.begin(thread.getName(), thread.getId(), new WeakReference<>(thread));
      do {
        own.next = ALL.get();
      } while (!ALL.compareAndSet(own.next, own));
    }
    own.busy = false;
    return own;
  }

  private static boolean isVirtual(Thread thread) {
    try {
      return IS_VIRTUAL != null && (boolean) IS_VIRTUAL.invokeExact(thread);
    } catch (Throwable impossible) {
      return false;
    }
  }

  private static MethodHandle isVirtualHandle() {
    try {
      return MethodHandles.lookup().findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
    } catch (ReflectiveOperationException before21) {
      return null;
    }
  }

  private static void slow(int method, long begun, long ns) {
    Thread thread = Thread.currentThread();
    Slow slow = new Slow(method, thread.getId(), thread.getName(), begun, ns, WALKER.stack(MOST_FRAMES));
    synchronized (SLOW) {
      if (SLOW.size() < MOST_SLOW) {
        SLOW.add(slow);
        return;
      }
      // The slowest are kept.
      slowLeftOut++;
      int least = 0;
      for (int i = 1; i < MOST_SLOW; i++) {
        least = SLOW.get(i).ns < SLOW.get(least).ns ? i : least;
      }
      if (SLOW.get(least).ns < ns) {
        SLOW.set(least, slow);
      }
    }
  }

  // What follows is called by the session, and by no woven method.

  /** Begins a session: everything is at zero. False: there is another. */
  public static synchronized boolean begin(int number, long slow) {
    if (session != 0) {
      return false;
    }
    ALL.set(null);
    CALLERS.clear();
    CALLER_IDS.set(1);
    synchronized (SLOW) {
      SLOW.clear();
      slowLeftOut = 0;
    }
    slowNs = slow;
    if (IS_VIRTUAL != null) {
      Counts[] some = new Counts[SHARED];
      for (int i = 0; i < SHARED; i++) {
        some[i] = new Counts(number);
        some[i].begin("", -1, null);
      }
      shared = some;
    }
    session = number;
    return true;
  }

  /** Ends the session; what was counted is dropped. */
  public static synchronized void end() {
    session = 0;
    for (Counts counts = ALL.getAndSet(null); counts != null; ) {
      Counts next = counts.next;
      counts.cells = null;
      counts.next = null;
      counts = next;
    }
    shared = null;
    CALLERS.clear();
    synchronized (SLOW) {
      SLOW.clear();
    }
  }

  /** What all threads have counted, those that have ended included. */
  public static List<Counts> all() {
    List<Counts> all = new ArrayList<>();
    for (Counts counts = ALL.get(); counts != null; counts = counts.next) {
      all.add(counts);
    }
    Counts[] some = shared;
    for (int i = 0; some != null && i < SHARED; i++) {
      all.add(some[i]);
    }
    return all;
  }

  /**
   * What threads have counted that have ended; from now on it is with whoever
   * asked. By one thread only.
   */
  public static List<Counts> takeEnded() {
    List<Counts> ended = new ArrayList<>();
    Counts before = ALL.get();
    // Others put theirs in front of the first, which therefore stays.
    for (Counts counts = before == null ? null : before.next; counts != null; counts = counts.next) {
      if (counts.hasEnded()) {
        before.next = counts.next;
        ended.add(counts);
      } else {
        before = counts;
      }
    }
    return ended;
  }

  /** Callers by their number in {@link Cell}. */
  public static String[] callers() {
    String[] names = new String[Math.min(MOST_CALLERS, CALLER_IDS.get()) + 1];
    for (Map.Entry<String, Integer> caller : CALLERS.entrySet()) {
      if (caller.getValue() < names.length) {
        names[caller.getValue()] = caller.getKey();
      }
    }
    return names;
  }

  /** Slow calls since the last time. */
  public static List<Slow> takeSlow() {
    synchronized (SLOW) {
      List<Slow> some = new ArrayList<>(SLOW);
      SLOW.clear();
      return some;
    }
  }

  /** Slow calls for which there was no room. */
  public static long slowLeftOut() {
    synchronized (SLOW) {
      return slowLeftOut;
    }
  }

  /** What a thread, or some virtual threads together, have counted. */
  public static final class Counts {
    final int session;
    boolean busy;
    Counts shared, next;
    private Cell[] cells;
    private long purse = PURSE, lastWalk, seed = System.nanoTime() | 1;
    /** The thread; its number is -1 for virtual threads. */
    public String thread = "";

    public long threadId;
    private WeakReference<Thread> alive;

    Counts(int session) {
      this.session = session;
    }

    void begin(String name, long id, WeakReference<Thread> whose) {
      thread = name;
      threadId = id;
      alive = whose;
      cells = new Cell[MOST_METHODS];
    }

    /** What was counted of a method; null: nothing. */
    public Cell of(int method) {
      Cell[] some = cells;
      return some == null ? null : some[method];
    }

    /** Whether the thread has ended. */
    public boolean hasEnded() {
      Thread whose = alive == null ? null : alive.get();
      return alive != null && (whose == null || !whose.isAlive());
    }

    long enter(int method) {
      Cell[] some = cells;
      if (some == null) {
        return 0;
      }
      Cell cell = some[method];
      if (cell == null) {
        cell = some[method] = new Cell();
      }
      cell.calls++;
      if (--cell.left <= 0) {
        walk(cell, method);
      }
      long begun = System.nanoTime();
      if (cell.walked != 0 && cell.walkedAt == 0) {
        cell.walkedAt = begun;
      }
      return begun == 0 ? 1 : begun;
    }

    long exit(int method, long begun, boolean thrown) {
      long ns = System.nanoTime() - begun;
      Cell[] some = cells;
      Cell cell = some == null ? null : some[method];
      if (cell == null) {
        return -1;
      }
      if (thrown) {
        cell.thrown++;
      }
      cell.times.add(ns);
      if (cell.walkedAt == begun) {
        cell.callers[cell.walked].times.add(ns);
        cell.walked = 0;
        cell.walkedAt = 0;
      }
      return ns;
    }

    private void walk(Cell cell, int method) {
      boolean before = busy;
      busy = true;
      try {
        long now = System.nanoTime(), since = now - lastWalk;
        purse = Math.min(PURSE, purse + Math.max(0, since) / SHARE);
        long represented = cell.drawn;
        // Drawn when calls were more frequent: nobody stands for those that came meanwhile.
        boolean isStale = cell.drawn > 1 && now - cell.walkAt > STALE_NS;
        int caller = number(WALKER.caller());
        long after = System.nanoTime();
        long cost = Math.min(LONGEST_WALK, after - now);
        purse -= cost;
        lastWalk = after;
        if (isStale) {
          cell.unknown += represented - 1;
          represented = 1;
        }
        cell.count(caller, represented);
        draw(cell, isStale, cost, after);
      } finally {
        busy = before;
      }
    }

    /**
     * After how many calls the stack is walked again: the longer, the less of its
     * purse a thread has left.
     */
    private void draw(Cell cell, boolean isStale, long cost, long now) {
      long gap = Math.max(1, now - cell.walkAt);
      if (isStale || purse > PURSE / 2) {
        cell.mean = Math.max(1, isStale ? 1 : cell.mean / 2);
      } else {
        // As many calls as come in the time that pays for a walk, or in twice that time where it
        // was too short before.
        long paying = (purse < PURSE / 8 ? 2 : 1) * SHARE * cost;
        long want = (long) (cell.drawn * (double) paying / gap);
        cell.mean = Math.max(1, Math.min(Math.min(want, 4 * cell.mean), 1 << 20));
      }
      long drawn = 1;
      if (cell.mean > 1) {
        // Marsaglia's xorshift: a fixed step would fall in with loops of the program.
        seed ^= seed << 13;
        seed ^= seed >>> 7;
        seed ^= seed << 17;
        drawn = 1 + (seed >>> 1) % (2 * cell.mean - 1);
      }
      cell.drawn = drawn;
      cell.left = drawn;
      cell.walkAt = now;
    }
  }

  /** Calls of one method by one thread. */
  public static final class Cell {
    public long calls, thrown;
    /** Calls whose caller is not known. */
    public long unknown;

    public final Times times = new Times();
    long left, drawn = 1, mean = 1, walkAt;
    int walked;
    long walkedAt;
    Caller[] callers = new Caller[8];

    void count(int caller, long calls) {
      if (caller >= callers.length) {
        Caller[] more = new Caller[Math.max(caller + 1, 2 * callers.length)];
        System.arraycopy(callers, 0, more, 0, callers.length);
        callers = more;
      }
      if (callers[caller] == null) {
        callers[caller] = new Caller();
      }
      callers[caller].calls += calls;
      callers[caller].walks++;
      walked = caller;
      walkedAt = 0;
    }

    /** By the number of the caller; entries may be null. */
    public Caller[] callers() {
      return callers;
    }
  }

  /** Calls from one caller. */
  public static final class Caller {
    /** Calls that it stands for, and those of them that were seen. */
    public long calls, walks;

    public final Times times = new Times();
  }

  /** A call that took long. Times are those of {@code System.nanoTime}. */
  public static final class Slow {
    public final int method;
    public final long threadId, begun, ns;
    public final String thread;
    public final List<String> stack;

    Slow(int method, long threadId, String thread, long begun, long ns, List<String> stack) {
      this.method = method;
      this.threadId = threadId;
      this.thread = thread;
      this.begun = begun;
      this.ns = ns;
      this.stack = stack;
    }
  }

  /** The number of a caller; 0: not known. */
  static int number(String caller) {
    Integer known = caller == null ? Integer.valueOf(0) : CALLERS.get(caller);
    if (known == null) {
      int id = CALLER_IDS.get() < MOST_CALLERS ? CALLER_IDS.getAndIncrement() : 0;
      Integer other = CALLERS.putIfAbsent(caller, id);
      known = other == null ? Integer.valueOf(id) : other;
    }
    return known;
  }

}
