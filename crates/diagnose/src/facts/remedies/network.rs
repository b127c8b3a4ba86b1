//! What helps with names, connections and handshakes.

super::remedies! {
    CACHING_RESOLVER = "remedy-caching-resolver",
        "a caching resolver on this host (systemd-resolved, dnsmasq, nscd)",
        "Linux", "answers may be older by their time to live";
    CACHE_NAMES = "remedy-cache-names",
        "-Dsun.net.inetaddr.ttl=60 or networkaddress.cache.ttl in java.security",
        "any JDK; 30 s without a security manager", "changes of address are noticed later";
    NAMES_IN_FULL = "remedy-names-in-full",
        "names with a trailing dot, or options ndots:1, where search domains are tried first",
        "resolv.conf", "short names no longer resolve";
    ANSWERING_SERVER = "remedy-answering-server",
        "put a server first in resolv.conf that answers",
        "resolv.conf", "none";
    SHORTER_TIMEOUT = "remedy-shorter-timeout",
        "options timeout:1 attempts:2 (and single-request, where one of A and AAAA is dropped)",
        "glibc", "a slow but working server is given up on sooner";
    NO_SEARCH_DOMAINS = "remedy-no-search-domains",
        "names with a trailing dot, or options ndots:1, so that no search domain is tried",
        "resolv.conf", "short names no longer resolve";
    KEEP_TLS_CONNECTIONS = "remedy-keep-tls-connections",
        "keep connections open: a pool, HTTP keep-alive, HTTP/2",
        "client and server, whichever of them closes", "connections that are kept hold memory on both sides";
    RESUME_SESSIONS = "remedy-resume-sessions",
        "let sessions be resumed: one SSLContext for all connections; the same jdk.tls.useExtendedMasterSecret on both sides (TLS 1.2 does not resume a session that was made without it where it is asked for); session tickets (jdk.tls.client.enableSessionTicketExtension, jdk.tls.server.enableSessionTicketExtension) or a cache that all servers behind one address share; javax.net.ssl.sessionCacheSize and the sessions' timeout large enough",
        "JDK 8u261, 11 and later", "who holds a session's secret can read what is sent under it: keep its lifetime in hours";
    ELLIPTIC_CURVES = "remedy-elliptic-curves",
        "certificates with keys of an elliptic curve instead of RSA",
        "the server's, and the clients' where they have some", "very old peers do not know them; a full handshake stays one";
}
