/** The clients do it: they take large answers in slowly, each on a thread of the pool. */
public final class SlowReaders implements Fault {}
