//! Keys of what is known of a process.

/// Name of the service that the process is a replica of, where a file says it of each process.
pub const SERVICE: &str = "service";
/// Version of that service.
pub const SERVICE_VERSION: &str = "service_version";
/// Name of the host, where a file says it of each process.
pub const HOST: &str = "host";
/// Id of the container, where a file says it of each process.
pub const CONTAINER: &str = "container";
/// JVM version, e.g. "17.0.15+6-Debian-1deb12u1".
pub const JVM_VERSION: &str = "jvm_version";
/// Feature release as a number: 8, 11, 17, 21, 25.
pub const JDK: &str = "jdk";
/// "Serial", "Parallel", "CMS", "G1", "Z", "Shenandoah", "Epsilon".
pub const COLLECTOR: &str = "collector";
/// "1" for generational ZGC or Shenandoah.
pub const GENERATIONAL: &str = "generational";
/// CPUs that the JVM sees.
pub const CPUS: &str = "cpus";
/// Memory of the machine or container as the JVM sees it, bytes.
pub const MEMORY_BYTES: &str = "memory_bytes";
/// Maximum heap, bytes.
pub const HEAP_MAX_BYTES: &str = "heap_max_bytes";
/// Initial heap, bytes.
pub const HEAP_INITIAL_BYTES: &str = "heap_initial_bytes";
/// G1 region size, bytes.
pub const REGION_BYTES: &str = "region_bytes";
/// "enabled" or "disabled".
pub const PRETOUCH: &str = "pretouch";
/// Large pages as printed: "Disabled", "Enabled (Transparent)".
pub const LARGE_PAGES: &str = "large_pages";
/// Parallel GC worker threads configured.
pub const GC_WORKERS: &str = "gc_workers";
/// Concurrent GC threads configured.
pub const GC_CONCURRENT_WORKERS: &str = "gc_concurrent_workers";
/// Reserved code cache, bytes.
pub const CODE_CACHE_BYTES: &str = "code_cache_bytes";
/// JVM arguments (secrets removed by the reader: values of properties whose name denotes a
/// password, secret, token, key or credential are replaced by "***").
pub const JVM_ARGS: &str = "jvm_args";
/// When the JVM had started, epoch nanoseconds, as it reports itself: some 10 ms to 1 s after its
/// elapsed counter's zero.
pub const JVM_START_NS: &str = "jvm_start_ns";
/// Thresholds of a flight recording, below which it has no events: "FileRead 20 ms, ThreadPark 20
/// ms".
pub const JFR_THRESHOLDS: &str = "jfr_thresholds";
/// The operating system, "Debian GNU/Linux 12 (bookworm)".
pub const OS: &str = "os";
/// Main class or jar.
pub const MAIN: &str = "main";
/// The first arguments of the program itself, without those that may be secrets
/// ([`crate::secrets::program_arguments`]): they distinguish JVMs of one main class.
pub const MAIN_ARGS: &str = "main_args";
/// "async" when unified logging is known to write asynchronously, "sync" when known not to.
pub const LOG_MODE: &str = "log_mode";
/// Compiler threads seen, e.g. "C1=1 C2=1".
pub const COMPILER_THREADS: &str = "compiler_threads";
/// Swap of the machine as JDK 8's header prints it: total and free bytes.
pub const SWAP_TOTAL_BYTES: &str = "swap_total_bytes";
/// See [`SWAP_TOTAL_BYTES`].
pub const SWAP_FREE_BYTES: &str = "swap_free_bytes";
/// "1" if GC lines name no causes or phases (`-Xlog:gc` alone).
pub const GC_BRIEF: &str = "gc_brief";
