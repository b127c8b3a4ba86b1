import java.util.concurrent.ConcurrentHashMap;

/** Rows of one tenant, in memory. A row is a fixed number of columns, guarded by itself. */
public final class Store {
  static final int COLUMNS = 8;

  private final ConcurrentHashMap<Long, long[]> rows = new ConcurrentHashMap<>();

  /** The row of a key, made when it is new. */
  public long[] row(long key) {
    long[] row = rows.get(key);
    if (row != null) {
      return row;
    }
    return rows.computeIfAbsent(key, Store::fresh);
  }

  private static long[] fresh(long key) {
    long[] row = new long[COLUMNS];
    row[0] = key;
    row[1] = 1_000;
    return row;
  }
}
