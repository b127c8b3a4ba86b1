/** The peer takes 25 ms instead of none. */
public final class SlowPeer extends Reviews {}
