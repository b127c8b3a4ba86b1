//! docs/gc-metrics.md is made from the metrics that the code gives for real logs of every
//! collector, so that names, units and meanings on the page are those of the program. How each is
//! computed stands here, with its id.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fathom_diagnose::metrics::{Group, gc, jit};
use fathom_recording::Recording;

/// What stands above the tables.
const HEAD: &str = "# What the metrics mean

Generated from the code (`FATHOM_BLESS=1 cargo test -p fathom-diagnose --test metrics_page`). Ids are those of `--json`, where
each metric also has its value, its grade (`fine`, `watch`, `bad`, `not-judged`) with the reason for it, and the place of
the record that it is taken from. What is not in the log has no value; it is never zero.

## Which one to look at first

1. **`gc_throughput`**: did the collector take time away at all? With less than 5% of the time stopped and no long pause,
   look elsewhere.
2. **`max_pause`** and **`pause_p99`**: throughput hides one pause of twenty seconds. The table of the longest pauses names
   lines; a pause with little CPU in it (`pause_cpu_efficiency`) waited for something else than its own work.
3. **`stop_throughput`** compared with `gc_throughput`: what lies between the two was stopped, and not by collections. Then
   `reach_max` and `operation_max`: was it the wait for the last thread, or what somebody asked for?
4. **`live_share`**, then **`full_gcs`** and **`evacuation_failures`**: is the heap too small for what lives in it?
5. **`promoted_share`**, **`survivors_overrun`**: does what should die young reach the old generation?
6. For ZGC and Shenandoah **`stalls`** before any pause: threads wait there without one.
7. In `fathom jit`: **`code_cache_free_min`**, **`c2_queue_wait_p95`**, then **`invalidations_real`**.

`allocation_rate`, `pauses` and `compiles` are not good or bad for themselves: they explain the others. Why an application
was slow in an interval is the question of `fathom diagnose`, not of one figure.

## Rules that hold for all of them

- A **pause** is a stop-the-world record of the collector, outermost only, as long as the log prints it. A **safepoint** is a
  stop of all threads for whatever reason, as its own line reports it, and contains the pause that it was made for.
- Percentiles are by nearest rank: each is a pause that took place.
- Shares of time are of the interval that the log covers (`covers`), or of `--window`.
- A JVM is judged alone; only the sums at the top of the JSON form are over all.
";

/// How each metric is computed, group by group in the order of the page.
const HOW: &[(&str, &[(&str, &str)])] = &[
    (
        "Pauses",
        &[
            (
                "gc_throughput",
                "1 − the time covered by pauses ÷ the time covered by the log; where two overlap it counts once",
            ),
            ("total_pause", "the sum of the lengths of all pauses"),
            ("pauses", "how many there are"),
            ("pause_p50", "50th percentile of the lengths of pauses"),
            ("pause_p99", "99th percentile of the same"),
            ("max_pause", "the longest of them"),
            ("pause_interval", "mean of the times from the end of a pause to the start of the next"),
            ("full_gcs", "pauses called full, or with a full collection nested in them"),
            (
                "old_collections",
                "those, and pauses that collected the old generation without being called so (a concurrent mode failure of CMS, a failed promotion)",
            ),
        ],
    ),
    (
        "Memory",
        &[
            (
                "allocation_rate",
                "the heap before a collection − the heap after the one before, added up where positive, ÷ the time from the first to the last; a lower bound for ZGC and Shenandoah, which free memory while it is allocated",
            ),
            (
                "promotion_rate",
                "what the old generation grew by in each young collection, added up where positive, ÷ the time covered; of G1 in whole regions",
            ),
            ("promoted_share", "the same sum ÷ the bytes allocated"),
            (
                "live_set",
                "median of the heap after the last five collections of the old generation: full ones, the last mixed one of a series, whole cycles of ZGC and Shenandoah, sweeps of CMS",
            ),
            (
                "live_share",
                "`live_set` ÷ the largest heap that the JVM may have, else the largest capacity seen",
            ),
            (
                "live_trend",
                "slope of the least-squares line through those readings, up to the first that find the heap full, of eight or more; judged as the rule `heap-leak` judges it",
            ),
            ("heap_after_max", "largest heap in use after a pause"),
            ("heap_capacity_max", "largest capacity printed with a pause"),
            ("metaspace", "metaspace in use after the last pause that prints it"),
            ("metaspace_gcs", "pauses whose cause begins with \"Metadata GC\""),
            ("humongous_max", "most humongous regions before a pause (G1)"),
            (
                "survivors_overrun",
                "pauses with a tenuring threshold of 1 or less where more is allowed ÷ pauses that print it",
            ),
        ],
    ),
    (
        "Collector",
        &[
            (
                "pause_cpu_efficiency",
                "CPU seconds (user + system) ÷ (wall seconds × workers), added up over pauses of 50 ms and more (shorter ones are printed too coarsely) of which the log has the number of workers; none where these are not most of them",
            ),
            ("pause_cpus", "CPU seconds (user + system) ÷ wall seconds of the same pauses"),
            ("pause_sys_share", "system ÷ (user + system) of the same pauses"),
            ("evacuation_failures", "pauses that say that objects could not be moved or promoted"),
            (
                "idle_gap_max",
                "longest time between two lines of a pause less the work that lines in between account for",
            ),
            (
                "concurrent_share",
                "time covered by concurrent phases and cycles ÷ the time covered by the log",
            ),
            ("stalls", "stalls of single threads: \"Allocation Stall\", \"Relocation Stall\""),
            ("stall_total", "the sum of their lengths over all threads"),
            ("stall_max", "the longest of them"),
            ("host_load_max", "largest load average that ZGC prints with its cycles"),
        ],
    ),
    (
        "Safepoints",
        &[
            (
                "stop_throughput",
                "1 − the time covered by safepoints and pauses ÷ the time covered by the log",
            ),
            ("safepoints", "how many there are"),
            ("reach_p99", "99th percentile of the time from the request time to safepoint"),
            ("reach_max", "the longest of the same"),
            ("operation_max", "the longest safepoint whose operation is named and is no collection"),
        ],
    ),
    (
        "Compilation",
        &[
            ("compiles", "compilations that began, each tier and each on-stack replacement for itself"),
            ("compiles_per_s", "the same ÷ the time covered"),
            ("compile_time", "the sum of their lengths over all compiler threads"),
            (
                "compiler_busy",
                "time covered by the compilations of a thread ÷ the time covered by the log, of the thread with most",
            ),
            (
                "c2_queue_wait_p95",
                "95th percentile of the time from a task's entry into C2's queue until it was taken",
            ),
        ],
    ),
    (
        "Code cache",
        &[
            (
                "code_cache_free_min",
                "least free room seen ÷ the size of the code cache (of its segment, where the log has that)",
            ),
            ("code_cache_used_max", "largest amount in use in any line"),
            ("code_cache_full", "times that the JVM reported that it was full"),
            ("code_cache_sweeps", "sweeps in the log"),
        ],
    ),
    (
        "Deoptimisation",
        &[
            ("invalidations", "compiled methods made not entrant or thrown away"),
            (
                "invalidations_real",
                "those less the ones for which better code was installed within 100 ms, or whose reason (JDK 25) says so",
            ),
            ("recompiled_most", "most real invalidations of one method that was compiled again"),
            ("traps", "uncommon traps that threads ran into"),
            ("compile_failures", "compilations that ended without code"),
        ],
    ),
];

/// Logs that together have every metric: all collectors, JDK 8 to 25, with and without safepoints,
/// JIT logs.
fn logs() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = [
        "ingest/fixtures/unified",
        "ingest/fixtures/jdk8",
        "ingest/fixtures/jit",
        "diagnose/fixtures/gc/healthy",
    ];
    let mut logs = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(crates.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let log =
                [".log", ".log.zst", ".xml.zst"].iter().any(|end| path.to_string_lossy().ends_with(end));
            logs.extend(log.then_some(path));
        }
    }
    logs.sort();
    logs
}

/// What the code says of each metric: group, name, unit, meaning. It must say the same for every
/// log.
fn described() -> BTreeMap<&'static str, [String; 4]> {
    let mut described = BTreeMap::new();
    for log in logs() {
        let mut recording = Recording::new();
        fathom_ingest::read_inputs(&[log], &fathom_ingest::Options::default(), &mut recording).unwrap();
        let gc = gc::report(&recording, None).jvms.into_iter().flat_map(|jvm| jvm.groups);
        let jit = jit::report(&recording, None).jvms.into_iter().flat_map(|jvm| jvm.groups);
        for Group { name: group, metrics } in gc.chain(jit) {
            for metric in metrics {
                let unit = serde_json::to_value(metric.unit).unwrap();
                let said = [group, metric.name, unit.as_str().unwrap(), metric.meaning].map(str::to_owned);
                assert_eq!(*described.entry(metric.id).or_insert(said.clone()), said, "{}", metric.id);
            }
        }
    }
    described
}

#[test]
fn the_page_of_metrics_is_that_of_the_code() {
    let mut described = described();
    let mut page = HEAD.to_owned();
    for (group, metrics) in HOW {
        let command =
            if ["Compilation", "Code cache", "Deoptimisation"].contains(group) { "jit" } else { "gc" };
        page += &format!(
            "\n## {group} (`fathom {command}`)\n\n| id | unit | what it is | how it is computed |\n|---|---|---|---|\n"
        );
        for (id, how) in *metrics {
            let [of, name, unit, meaning] = described
                .remove(id)
                .unwrap_or_else(|| panic!("no log has the metric {id}, or it is listed twice"));
            assert_eq!(of, *group, "{id}");
            assert!(!meaning.is_empty(), "{id} does not say what it means");
            page += &format!("| `{id}` | {unit} | **{name}**: {meaning} | {how} |\n");
        }
    }
    assert!(described.is_empty(), "how these are computed is said nowhere: {:?}", described.keys());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gc-metrics.md");
    if std::env::var_os("FATHOM_BLESS").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(written, page, "docs/gc-metrics.md is not current: run the test with FATHOM_BLESS=1");
}
