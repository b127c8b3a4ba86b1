/**
 * The stored procedures of a tenant. Each tenant brings its own copy, loaded by
 * its own class loader.
 */
public interface Procedures {
  /** Runs one transaction and returns a checksum of what it touched. */
  long run(Store store, long seed);
}
