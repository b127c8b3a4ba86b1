/** The peer closes each connection behind its answer. */
public final class ClosedConnections extends Reviews {}
