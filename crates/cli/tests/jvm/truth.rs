//! Truth by construction: waits that are made from outside (a quota, a frozen file system, one that
//! holds writers back, an address space that is locked) are in the ledger under their category,
//! with the time that the program itself measured and the stack that waited. Needs root and eBPF;
//! skips loudly without.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use fathom_recording::vocabulary::{figure, kind, label, sample};
use fathom_recording::{FrameType, Recording, Span};
use serde_json::Value;

use crate::live::disk::Disk;
use crate::live::process::Talking;
use crate::live::recorded::{ledger, names, of_thread};
use crate::live::recorder::Recorder;
use crate::live::{ebpf_is_allowed, jdks, json, with_each};

/// How far a time may be from what the program measured.
const WITHIN: f64 = 0.02;
/// Clocks of program and recorder are read one after the other, and a thread does a little more
/// than what it measures.
const CLOCKS_MS: f64 = 2.0;
/// The kernel charges a thread its CPU until it begins to look for the next one, and `sched_switch`
/// comes when it has found one: 6 to 12 µs later on a CPU at rest, where the sum of
/// `schedstat` was compared with that of the switches, 12 to 26 µs with eight threads for two
/// CPUs; 46 µs at most were seen, on a virtual machine whose host had others to serve.
const SWITCH_MS: f64 = 0.05;
/// What stands under other categories than the one in question, as a part of all that a thread was
/// off the CPU.
const MOST_ELSEWHERE: f64 = 0.05;
/// The same of what was not seen, above which nothing is known of a thread.
const MOST_UNSEEN: f64 = 0.2;
/// The longest wait whose whole stack is known, as a part of the longest.
const LEAST_OF_LONGEST: f64 = 0.2;

/// The program, ready.
fn program(dir: &Path, home: &Path) -> Talking {
    let mut java = Command::new(home.join("bin/java"));
    java.current_dir(dir).args(["-XX:+UseSerialGC", "-Xmx64m", "-cp", ".", "Truth"]);
    // So that glibc maps and unmaps each large block, however often that was done.
    Talking::start(java.env("MALLOC_MMAP_THRESHOLD_", "131072"))
}

/// What a step measured, milliseconds off the CPU.
fn off_ms(program: &mut Talking, step: &str) -> f64 {
    measured(program, step).0
}

/// What a step measured: milliseconds off the CPU, and how often its thread was switched out.
fn measured(program: &mut Talking, step: &str) -> (f64, u32) {
    let line = program.until(&format!("step {step} "));
    let mut words = line.split_whitespace();
    let off_ns: f64 = words.next().unwrap().parse().unwrap();
    (off_ns / 1e6, words.next().unwrap().parse().unwrap())
}

/// Milliseconds of a thread by category; every thread's time adds up.
struct Ledger<'a> {
    reported: Value,
    of: &'a Recording,
    shown: String,
}

impl<'a> Ledger<'a> {
    fn read(dir: &Path, of: &'a Recording, shown: &str) -> Self {
        Self { reported: ledger(dir, shown), of, shown: shown.to_owned() }
    }

    fn thread(&self, thread: &str) -> &Value {
        let mut groups = self.reported["groups"].as_array().unwrap().iter();
        let group = groups.find(|group| group["name"].as_str().unwrap().split(' ').next() == Some(thread));
        group.unwrap_or_else(|| panic!("{}: no {thread}: {}", self.shown, self.reported))
    }

    /// Under the categories of this sort.
    fn sum_ms(&self, thread: &str, is: impl Fn(&str, &str) -> bool) -> f64 {
        let spent = self.thread(thread)["spent"].as_array().unwrap().iter();
        let of = spent.filter(|of| is(of["category"].as_str().unwrap(), of["words"].as_str().unwrap()));
        of.map(|of| of["ms"].as_f64().unwrap()).sum::<f64>() + 0.0
    }

    fn ms(&self, thread: &str, category: &str) -> f64 {
        self.sum_ms(thread, |of, _| of == category)
    }

    /// Milliseconds in which a switch to or from a thread was not seen, and is known not to have
    /// been: a kernel may hide some threads from all who trace it. Here those are the threads of
    /// process 1, which carry what a test prints, and whoever follows one on its CPU was
    /// switched to unseen.
    fn unseen_ms(&self, thread: &str) -> f64 {
        let watched = of_thread(self.of, kind::SCHED_WATCHED, thread);
        let mut ends: Vec<(i64, i64)> = watched.iter().map(|span| (span.t0_ns(), span.t1_ns())).collect();
        ends.sort_unstable();
        ends.windows(2).map(|two| (two[1].0 - two[0].1) as f64 / 1e6).sum::<f64>() + 0.0
    }

    /// What a thread was off the CPU stands under a category. What it waited for a CPU is the
    /// machine's doing, and is no less in what the program measured.
    #[track_caller]
    fn agrees(&self, thread: &str, category: &str, off_ms: f64) {
        self.tells_but_for(0, thread, category, off_ms);
    }

    /// The thread was switched out so many times.
    ///
    /// It may have been off the CPU for more than one reason: whoever comes back from a call while
    /// the JVM stands at a safepoint waits for its end, and `malloc` has locks of its own. What the
    /// ledger names otherwise is time off the CPU, but little of it.
    #[track_caller]
    fn tells_but_for(&self, switches: u32, thread: &str, category: &str, off_ms: f64) {
        let (ms, queued) = (self.ms(thread, category), self.ms(thread, "run-queue"));
        let stood = |of: &str| of != category && (of == "stopped" || of == "stopped-to-reach");
        let stood_ms = self.sum_ms(thread, |of, _| stood(of));
        let other_ms = self.sum_ms(thread, |of, words| {
            let is_other = of != category && of != "run-queue" && of != "sleep" && of != "unknown";
            is_other && !stood(of) && !words.starts_with("running")
        });
        let unseen_ms = self.unseen_ms(thread);
        let give = WITHIN * off_ms + CLOCKS_MS;
        let shown = format!(
            "{}: {thread}: {category} {ms:.1} ms and {queued:.1} ms for a CPU of {off_ms:.1}, {switches} switches; \
             {stood_ms:.1} at a safepoint, {other_ms:.1} elsewhere, {unseen_ms:.1} not seen",
            self.shown
        );
        eprintln!("{shown}");
        assert!(ms <= off_ms + give, "{shown}: {}", self.thread(thread));
        if unseen_ms > MOST_UNSEEN * off_ms {
            fathom_testing::skip(&format!("in part: the machine was too busy: {shown}"));
            return;
        }
        assert!(other_ms <= MOST_ELSEWHERE * off_ms + give, "{shown}: {}", self.thread(thread));
        let switching = SWITCH_MS * f64::from(switches);
        let all = ms + queued + stood_ms + other_ms + unseen_ms;
        assert!(all >= off_ms - give - switching, "{shown}: {}", self.thread(thread));
    }
}

/// The longest span of a kind and a thread, its naps apart, has a method in its stack. Of a thread
/// that waits twice in one call, the first wait has the kernel's part of its stack alone: where
/// that is the longest, the longest of the others must not be short.
#[track_caller]
fn longest<'a>(recording: &'a Recording, kind: &str, thread: &str, method: &str, shown: &str) -> Span<'a> {
    let own = of_thread(recording, kind, thread).into_iter();
    let mut own: Vec<_> = own.map(|span| (names(recording, span.stack()), span)).collect();
    own.retain(|(names, _)| !names.contains(&"Truth.nap"));
    // Where it was woken late is the machine's doing.
    let long = |span: &Span<'_>| span.duration_ns() as f64 - span.figure(figure::RUNQ_NS).unwrap_or(0.0);
    own.sort_by(|(_, a), (_, b)| long(b).total_cmp(&long(a)));
    let Some(longest) = own.first() else { panic!("{shown}: no {kind} of {thread}") };
    let least = LEAST_OF_LONGEST * long(&longest.1);
    let whole =
        own.iter().find(|(_, span)| of_program(recording, span)).filter(|(_, span)| long(span) >= least);
    let (names, whole) = whole.unwrap_or(longest);
    assert!(names.contains(&method), "{shown}: {kind} of {thread}: {names:?}");
    *whole
}

/// Whether a span's stack has more than the kernel's part.
fn of_program(recording: &Recording, span: &Span<'_>) -> bool {
    let mut at = span.stack();
    while let Some(node) = at.map(|id| recording.stacks[id.index()]) {
        if recording.frames[node.frame.index()].frame_type != FrameType::Kernel {
            return true;
        }
        at = node.parent;
    }
    false
}

/// A control group with a quota of a fifth of a CPU; goes away with the test.
struct Quota {
    place: PathBuf,
    /// Where ids of threads are written to, and where the kernel says what it held back, by its
    /// word for it.
    threads: PathBuf,
    stat: PathBuf,
}

impl Quota {
    /// The threads that no quota holds back.
    const NONE: &str = "/sys/fs/cgroup/cpu/tasks";

    /// `None`, loudly, where none can be made: the CPU controller of control groups, version 1, is
    /// needed, in which a thread alone can be put into a group.
    fn make() -> Option<Self> {
        let place = PathBuf::from(format!("/sys/fs/cgroup/cpu/fathom-test-{}", std::process::id()));
        let made = std::fs::create_dir(&place);
        let write = |file: &str, text: &str| std::fs::write(place.join(file), text);
        let made = made.and_then(|()| write("cpu.cfs_period_us", "100000"));
        let made = made.and_then(|()| write("cpu.cfs_quota_us", "20000"));
        if let Err(error) = made {
            let _ = std::fs::remove_dir(&place);
            fathom_testing::skip(&format!("no quota of CPU: {}: {error}", place.display()));
            return None;
        }
        Some(Self { threads: place.join("tasks"), stat: place.join("cpu.stat"), place })
    }

    /// Milliseconds for which the kernel held threads back.
    fn throttled_ms(&self) -> f64 {
        let text = std::fs::read_to_string(&self.stat).unwrap();
        let ns = text.lines().find_map(|line| line.strip_prefix("throttled_time ")).unwrap();
        ns.parse::<f64>().unwrap() / 1e6
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // Its last thread may be on its way out.
        let end = Instant::now() + Duration::from_secs(5);
        while std::fs::remove_dir(&self.place).is_err() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn a_thread_without_quota_is_throttled_for_as_long_as_the_kernel_says() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    if !ebpf_is_allowed() {
        return;
    }
    with_each(jdks::with_program(dir, "Truth"), |release, home| {
        // What falls in reverse order: the program before its group.
        let Some(quota) = Quota::make() else { return };
        let mut program = program(dir, home);
        let recorder = Recorder::record(dir, &program.pid(), &[]);
        program.send(&format!("throttled {} {}", quota.threads.display(), Quota::NONE));
        let off_ms = off_ms(&mut program, "throttled");
        let kernel_ms = quota.throttled_ms();
        let recording = recorder.stop(dir);
        let shown = format!("JDK {release}");
        let ledger = Ledger::read(dir, &recording, &shown);
        ledger.agrees("throttled", "throttled", off_ms);
        let ms = ledger.ms("throttled", "throttled");
        assert!(kernel_ms > 0.0, "{shown}: the kernel never held it back");
        // Of a switch that the kernel showed to nobody the ledger says that it is not known.
        let (give, unseen_ms) = (WITHIN * kernel_ms + CLOCKS_MS, ledger.unseen_ms("throttled"));
        assert!(
            (kernel_ms - give - unseen_ms..=kernel_ms + give).contains(&ms),
            "{shown}: {ms} ms and {unseen_ms} not seen, of the kernel {kernel_ms}"
        );
        let cpu = recording.strings.find(sample::CPU);
        let of_it = recording.samples.iter().filter(|s| Some(s.kind) == cpu).filter(|s| {
            let name = s.thread.map(|id| recording.threads[id.index()].name);
            name.is_some_and(|name| recording.strings.get(name) == "throttled")
        });
        let stacks: Vec<_> = of_it.map(|s| names(&recording, s.stack)).collect();
        let spun = stacks.iter().filter(|names| names.contains(&"Truth.spin")).count();
        assert!(spun * 10 >= stacks.len() * 8 && spun > 0, "{shown}: {spun} of {}: {stacks:?}", stacks.len());
    });
}

#[test]
fn a_write_on_a_frozen_file_system_is_a_wait_for_the_disk_in_its_call() {
    let dir = tempfile::tempdir().unwrap();
    let dir = &dir.path().canonicalize().unwrap();
    if !ebpf_is_allowed() {
        return;
    }
    let homes = jdks::with_program(dir, "Truth");
    let Some(disk) = Disk::make(dir).filter(|_| !homes.is_empty()) else { return };
    with_each(homes, |release, home| {
        let shown = format!("JDK {release}");
        let mut program = program(dir, home);
        let recorder = Recorder::record(dir, &program.pid(), &[]);
        program.send("writer mnt/written.dat");
        program.until("begun writer");
        std::thread::sleep(Duration::from_millis(200));
        let Some(frozen) = disk.freeze() else { return };
        std::thread::sleep(Duration::from_secs(2));
        frozen.thaw();
        let off_ms = off_ms(&mut program, "writer");
        let recording = recorder.stop(dir);
        Ledger::read(dir, &recording, &shown).agrees("writer", "disk", off_ms);
        let call = longest(&recording, kind::SYSCALL, "writer", "Truth.write", &shown);
        let file = dir.join("mnt/written.dat");
        assert_eq!((call.name(), call.label(label::PATH)), ("write", file.to_str()), "{shown}");
        assert!(call.duration_ns() as f64 / 1e6 <= off_ms + WITHIN * off_ms + CLOCKS_MS, "{shown}");
        longest(&recording, kind::SCHED_OFF, "writer", "Truth.write", &shown);
    });
}

#[test]
fn a_writer_that_is_held_back_until_others_are_written_back_waits_for_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let dir = &dir.path().canonicalize().unwrap();
    if !ebpf_is_allowed() {
        return;
    }
    let homes = jdks::with_program(dir, "Truth");
    let Some(disk) = Disk::make(dir).filter(|_| !homes.is_empty()) else { return };
    if !disk.hold_writers_back() {
        return;
    }
    with_each(homes, |release, home| {
        let shown = format!("JDK {release}");
        let mut program = program(dir, home);
        let recorder = Recorder::record(dir, &program.pid(), &[]);
        program.send("held-back mnt/much.dat");
        let off_ms = off_ms(&mut program, "held-back");
        let recording = recorder.stop(dir);
        Ledger::read(dir, &recording, &shown).agrees("held-back", "disk", off_ms);
        let off = longest(&recording, kind::SCHED_OFF, "held-back", "Truth.write", &shown);
        let names = names(&recording, off.stack());
        assert!(names.iter().any(|name| name.starts_with("balance_dirty_pages")), "{shown}: {names:?}");
        let chain = json(dir, &["chain", "x.fathom", "--thread", "^held-back$", "--stops", "0"]).to_string();
        assert!(chain.contains("held back until more is written to"), "{shown}: {chain}");
        assert!(chain.contains(&format!("last written by Truth ({})", program.pid())), "{shown}: {chain}");
    });
}

#[test]
fn a_thread_in_a_page_fault_is_the_last_in_at_a_safepoint() {
    let dir = tempfile::tempdir().unwrap();
    let dir = &dir.path().canonicalize().unwrap();
    if !ebpf_is_allowed() {
        return;
    }
    let homes = jdks::with_program(dir, "Truth");
    let Some(disk) = Disk::make(dir).filter(|_| !homes.is_empty()) else { return };
    with_each(homes, |release, home| {
        let shown = format!("JDK {release}");
        let _ = std::fs::remove_file(dir.join("mnt/mapped.dat"));
        let mut program = program(dir, home);
        let recorder = Recorder::record(dir, &program.pid(), &[]);
        program.send("toucher mnt/mapped.dat");
        program.until("begun toucher");
        std::thread::sleep(Duration::from_millis(200));
        let Some(frozen) = disk.freeze() else { return };
        std::thread::sleep(Duration::from_millis(500));
        program.send("collect");
        std::thread::sleep(Duration::from_millis(1500));
        frozen.thaw();
        let touch_ms = off_ms(&mut program, "toucher");
        let collect_ms = off_ms(&mut program, "collector");
        let recording = recorder.stop(dir);
        let ledger = Ledger::read(dir, &recording, &shown);
        ledger.agrees("toucher", "page-fault", touch_ms);
        if collect_ms > 1000.0 {
            ledger.agrees("collector", "stopped-to-reach", collect_ms);
        } else {
            eprintln!("{shown}: the JVM had asked for a stop of its own before, {collect_ms:.1} ms");
        }
        let fault = longest(&recording, kind::PAGE_FAULT, "toucher", "Truth.touch", &shown);
        let file = dir.join("mnt/mapped.dat");
        assert_eq!(fault.label(label::PATH), file.to_str(), "{shown}");
        let stops = json(dir, &["chain", "x.fathom", "--threads", "0", "--stops", "1"]);
        let stop = &stops["stops"][0];
        assert_eq!(stop["last_in"], "toucher", "{shown}: {stop}");
        let reach = stop["parts"].as_array().unwrap().iter().find(|part| part["part"] == "reach").unwrap();
        let reach_ms = reach["ms"].as_f64().unwrap();
        assert!(reach_ms <= touch_ms * (1.0 + WITHIN) + CLOCKS_MS, "{shown}: {touch_ms}: {stop}");
        assert!(reach["links"].to_string().contains("a frozen file system"), "{shown}: {stop}");
        assert!(stop["last_in_stack"].to_string().contains("Truth.touch"), "{shown}: {stop}");
    });
}

#[test]
fn a_thread_that_maps_while_another_gives_memory_back_waits_for_the_address_space() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    if !ebpf_is_allowed() {
        return;
    }
    with_each(jdks::with_program(dir, "Truth"), |release, home| {
        let shown = format!("JDK {release}");
        let mut program = program(dir, home);
        let recorder = Recorder::record(dir, &program.pid(), &[]);
        program.send("mapper");
        let (off_ms, switches) = measured(&mut program, "mapper");
        let recording = recorder.stop(dir);
        let not_seen = |source: &fathom_recording::Source| {
            source.unseen.iter().any(|unseen| unseen.what.contains("address space"))
        };
        if recording.sources.iter().any(not_seen) {
            fathom_testing::skip("this kernel has no tracepoint of the lock of the address space");
            return;
        }
        Ledger::read(dir, &recording, &shown).tells_but_for(switches, "mapper", "map-lock", off_ms);
        let wait = longest(&recording, kind::MEMORY_MAP_LOCK, "mapper", "Truth.mapOne", &shown);
        assert_eq!(wait.name(), "write", "{shown}");
        longest(&recording, kind::SCHED_OFF, "mapper", "Truth.mapOne", &shown);
    });
}

/// A control group with little memory, in which only what its processes ask for from then on
/// counts; goes away with the test.
struct LittleMemory {
    place: PathBuf,
}

impl LittleMemory {
    /// `None`, loudly, where none can be made: the memory controller of control groups, version 1,
    /// leaves what a process has already in the group that it comes from.
    fn make() -> Option<Self> {
        let place = PathBuf::from(format!("/sys/fs/cgroup/memory/fathom-test-{}", std::process::id()));
        let made = std::fs::create_dir(&place);
        if let Err(error) = made.and_then(|()| std::fs::write(place.join("memory.limit_in_bytes"), "32M")) {
            let _ = std::fs::remove_dir(&place);
            fathom_testing::skip(&format!("no group with little memory: {}: {error}", place.display()));
            return None;
        }
        Some(Self { place })
    }

    fn holds(&self, pid: &str) {
        std::fs::write(self.place.join("cgroup.procs"), pid).unwrap();
    }
}

impl Drop for LittleMemory {
    fn drop(&mut self) {
        // Its last process may be on its way out.
        let end = Instant::now() + Duration::from_secs(5);
        while std::fs::remove_dir(&self.place).is_err() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Milliseconds in which somebody was held up for memory, by the kernel's own account
/// (Documentation/accounting/psi.rst).
fn pressure_ms() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/pressure/memory").ok()?;
    let total = text.lines().next()?.rsplit_once("total=")?.1;
    Some(total.parse::<f64>().ok()? / 1e3)
}

#[test]
fn a_thread_that_touches_more_than_its_group_may_have_reclaims_memory() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    if !ebpf_is_allowed() {
        return;
    }
    if pressure_ms().is_none() {
        fathom_testing::skip("this kernel does not report pressure for memory");
        return;
    }
    std::fs::File::create(dir.join("sparse.dat")).unwrap().set_len(512 << 20).unwrap();
    with_each(jdks::with_program(dir, "Truth"), |release, home| {
        let shown = format!("JDK {release}");
        // What falls in reverse order: the program before its group.
        let Some(group) = LittleMemory::make() else { return };
        let mut program = program(dir, home);
        group.holds(&program.pid());
        let recorder = Recorder::record(dir, &program.pid(), &[]);
        let before_ms = pressure_ms().unwrap();
        program.send("reclaimer sparse.dat");
        program.until("step reclaimer ");
        let after_ms = pressure_ms().unwrap();
        let recording = recorder.stop(dir);
        let kernel_ms = after_ms - before_ms;
        let all = recording.series.iter().filter(|series| {
            series.info.name == "process.memory-stalls"
                && series.info.instance == "reclaim of the control group"
        });
        let ms: f64 = all
            .flat_map(|series| series.value.iter().zip(&series.dt_ns))
            .map(|(cpus, &ns)| cpus * ns as f64 / 1e6)
            .sum();
        eprintln!("{shown}: {ms:.1} ms of reclaim, of the kernel {kernel_ms:.1}");
        assert!(kernel_ms > 100.0, "{shown}: nothing was held up for memory: {kernel_ms} ms");
        // The kernel reports the mean over the CPUs that were not idle: all of it if the
        // others were, at worst its part of one. It is of the whole machine, and settled by each
        // CPU at times of its own.
        let processors = std::thread::available_parallelism().unwrap().get() as f64;
        let most_ms = kernel_ms * processors;
        assert!(
            ms >= 0.8 * kernel_ms && ms <= 1.25 * most_ms,
            "{shown}: {ms} ms of {kernel_ms} to {most_ms}"
        );
        let stall = longest(&recording, kind::MEMORY_STALL, "reclaimer", "Truth.touchAll", &shown);
        assert_eq!(stall.name(), "reclaim of the control group", "{shown}");
    });
}
