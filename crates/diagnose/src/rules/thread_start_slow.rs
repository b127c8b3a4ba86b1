//! `thread-start-slow`: threads are started while others wait for them, and it takes long until
//! they run.

use std::collections::{HashMap, HashSet};

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{ProcessId, Recording, Span, StackId, StrId};

use super::wait_case::Waits;
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, meanings, reasons, remedies, titles, waits as facts};
use crate::intervals::Intervals;
use crate::waits::Category;
use crate::waits::place::is_of_jdk;
use crate::waits::place::java_method;
use crate::{Case, Finding, Judgement, Layer, Remedy, Rule};

/// A start that takes at least this long is slow, milliseconds: one on a machine with room takes a
/// tenth to a third of one.
const SLOW_MS: f64 = 2.0;
/// Where a start's stack is not known.
const UNKNOWN: &str = "unknown code";
/// How many times as many starts may be of other places as of the one that is named.
const FAIR: usize = 3;
/// Starts cited.
const CITED: usize = 3;
/// Packages whose methods only hand a start on.
const HAND_ON: [&str; 3] = ["java.lang.", "java.util.concurrent.", "jdk.internal."];

/// The rule.
pub struct ThreadStartSlow;

/// What of a start may take long. The parts are one behind the other, but for the end of `clone()`,
/// when the new thread may run already.
#[derive(Clone, Copy)]
enum Part {
    /// The lock of the address space, held by whoever maps memory or gives it back.
    MapLock,
    /// The new thread's waits for a CPU.
    RunQueue,
    /// The JVM's own lock of its list of threads, which each start and each end of a thread takes.
    ThreadsLock,
    /// The rest of the system call.
    Clone,
    /// What the JVM and the C library do before and behind it on the caller's side.
    Call,
    /// From when it first runs until it runs Java.
    ToJava,
}

impl Part {
    const ALL: [Self; 6] =
        [Self::MapLock, Self::RunQueue, Self::ThreadsLock, Self::Clone, Self::Call, Self::ToJava];

    fn named(self) -> Value {
        let metric = match self {
            Self::MapLock => &facts::MAP_LOCK,
            Self::RunQueue => &facts::RUN_QUEUE,
            Self::Clone => &facts::CLONE,
            Self::ThreadsLock => &facts::THREADS_LOCK,
            Self::Call => &facts::CALL,
            Self::ToJava => &facts::TO_JAVA,
        };
        Value::from(metric.fact())
    }

    fn remedies(self) -> Vec<Remedy> {
        let pool = remedies::KEEP_THREADS.remedy();
        let own = match self {
            Self::MapLock => remedies::FEWER_MAPPINGS.remedy(),
            Self::RunQueue => remedies::CPU_FOR_NEW_THREAD.remedy(),
            Self::ThreadsLock => remedies::FEWER_STARTS.remedy(),
            Self::Clone | Self::Call => remedies::NEWER_KERNEL.remedy(),
            Self::ToJava => remedies::SMALLER_STACKS.remedy(),
        };
        vec![pool, own]
    }
}

impl Rule for ThreadStartSlow {
    fn id(&self) -> &'static str {
        "thread-start-slow"
    }

    fn layer(&self) -> Layer {
        Layer::Cpu
    }

    fn about(&self) -> &'static str {
        "Who starts a thread for a piece of work waits until the kernel has made it, the JVM has set it up and a CPU is free for \
         it; a profile shows next to nothing of that, as nobody runs meanwhile.\n\n\
         **Evidence.** Starts from the call of `Thread.start` until the new thread runs Java, as `fathom record` sees them, cut into \
         parts: the wait for the lock of the address space (a new stack is mapped), waits for the JVM's own lock of its list of \
         threads, `clone()`, the new thread's waits for a CPU, the rest. From 2 ms on a start is slow. The part that took most names the culprit.\n\n\
         **Cost.** The time in which a slow start was under way, above the baseline's, and no more than the waiting time of each thread. \
         That work waited for the new thread is not seen, so the verdict is at most *likely*.\n\n\
         **Confounders.** Where the new thread waits for a CPU, all threads do: the machine or its quota is too small, and the \
         start only shows it. Work that waits in an executor's queue for a thread that exists is no start.\n\n\
         **Ruled out** by the longest start seen."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::ThreadStarts]
    }

    /// The JVM's lock of its list of threads is waited for where threads are started.
    fn reports(&self, finding: &Finding, category: Category, method: &str) -> bool {
        category == Category::NativeLock && finding.culprit.fact().name("value") == Some(method)
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        // Those that the JVM makes for itself (compilers, collectors) keep nobody waiting.
        let by_java = |span: &Span<'_>| span.figure(figure::CALL_NS).is_some();
        let Some(all) = Waits::of(case, jvm, kind::THREAD_STARTUP, by_java) else {
            return Judgement::NotApplicable;
        };
        let long = |span: &Span<'_>| by_java(span) && span.duration_ns() as f64 / 1e6 >= SLOW_MS;
        let Some(waits) = Waits::of(case, jvm, kind::THREAD_STARTUP, long) else {
            return Judgement::NotApplicable;
        };
        if all.slow.is_empty() {
            return Judgement::NotApplicable;
        }
        let cutter = Cutter::of(case.recording, jvm);
        let mut parts = Part::ALL.map(|part| (part, 0.0));
        for wait in &waits.slow {
            for ((_, sum), ms) in parts.iter_mut().zip(cutter.cut(&wait.span)) {
                *sum += ms;
            }
        }
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        // Whoever waits for what such threads do, or for their ends, waits for the same lock.
        let attributed_ms = match parts[0].0 {
            Part::ThreadsLock => case.attributed.ms(jvm, Category::NativeLock),
            _ => 0.0,
        };
        let cost_ms = wall_ms(case, jvm).min(waits.cost_ms()).max(attributed_ms);
        if waits.slow.is_empty() || !case.matters(cost_ms) {
            let longest = facts::LONGEST_START.is(Value::ms(all.longest_ms()));
            return all.ruled_out(longest.with("starts", Value::count(all.slow.len())));
        }
        // That a thread begins late is not yet that anybody waits for what it does.
        let (ground, why) = match case.share(cost_ms) {
            Some(share) if share >= 0.5 => (Ground::Waits, &reasons::STARTS_HALF),
            Some(_) => (Ground::Waits, &reasons::STARTS_LESS),
            // Over a whole run they may have taken as long ever since it began.
            None if case.whole_run => (Ground::Fits, &reasons::STARTS_ALL_ALONG),
            None if case.may_be_start_up() => (Ground::Fits, &reasons::BEGINNING),
            None => (Ground::Waits, &reasons::STARTS_COST),
        };
        let mut finding = waits.finding(self, ground.because(case, cost_ms, why));
        (finding.cost_ms, finding.share) = (cost_ms, case.share(cost_ms));
        let most = parts[0].0;
        let title = titles::THREAD_START_SLOW.is(Value::ms(waits.total_ms()));
        let title = title.with("starts", Value::count(waits.slow.len()));
        let title = title.with("longest", Value::ms(waits.longest_ms()));
        let title = title.with("share", Value::share(parts[0].1 / waits.total_ms()));
        finding.title = title.with("part", most.named()).into();
        let from = |span: &Span<'_>| {
            let hands_on = |name: &str| HAND_ON.iter().any(|package| name.starts_with(package));
            // Where no code but the JDK's is on the stack, what hands the start on is named.
            let starts = |name: &str| name.starts_with("java.lang.");
            let found = java_method(case.recording, span.stack(), hands_on);
            let found = found.or_else(|| java_method(case.recording, span.stack(), starts));
            found.unwrap_or(UNKNOWN).to_owned()
        };
        let mut sites = waits.by(from);
        // A method of the application says more than as many starts by the JDK or by nobody known.
        let is_known = |site: &str| site != UNKNOWN && !is_of_jdk(site);
        let named = sites.iter().position(|(site, g)| is_known(site) && FAIR * g.count >= sites[0].1.count);
        if let Some(named) = named.filter(|_| !is_known(&sites[0].0)) {
            sites.swap(0, named);
        }
        finding.culprit = culprits::METHOD.is(Value::name(&sites[0].0)).into();
        finding.meaning = meanings::THREAD_STARTS.fact().into();
        let listed = (parts.iter().filter(|(_, ms)| *ms > 0.0))
            .map(|(part, ms)| facts::START_PART.is(Value::ms(*ms)).with("part", part.named()));
        let fact = facts::SLOW_STARTS.is(Value::count(waits.slow.len())).with("least", Value::ms(SLOW_MS));
        let fact =
            fact.with("starts", Value::count(all.slow.len())).with("total", Value::ms(waits.total_ms()));
        finding.evidence.push(waits.summed(fact.with("parts", Value::list(listed))));
        let sites = sites
            .iter()
            .take(CITED)
            .map(|(site, g)| facts::STARTED_AT.is(Value::count(g.count)).with("site", Value::name(site)));
        finding.evidence.push(waits.summed(facts::STARTED_BY.fact().with("sites", Value::list(sites))));
        finding.evidence.extend(
            waits.longest(CITED, |span| facts::START.fact().with("thread", Value::named(span.name()))),
        );
        finding.remedies = most.remedies();
        finding.verify =
            vec![checks::PARTS_OF_STARTS.fact().into(), checks::CALLERS_WAIT_NO_MORE.fact().into()];
        Judgement::Found(Box::new(finding))
    }
}

/// Time in which any slow start was under way, above as much of the baseline's, milliseconds; what
/// an application does before it has reached its usual level is no measure of what is usual.
fn wall_ms(case: &Case<'_>, jvm: ProcessId) -> f64 {
    let starts = case.recording.spans_of(kind::THREAD_STARTUP).filter(|span| span.process() == jvm);
    let slow =
        starts.filter(|s| s.figure(figure::CALL_NS).is_some() && s.duration_ns() as f64 / 1e6 >= SLOW_MS);
    let under_way = Intervals::of(slow.map(|span| (span.t0_ns(), span.t1_ns())));
    let warm = Intervals::of_windows(&case.base).without(&Intervals::of_windows(case.warm_up.as_slice()));
    let slow = Intervals::of_windows(&case.slow);
    let usual = match warm.length_ns() {
        0 => 0.0,
        ns => under_way.and(&warm).length_ms() * slow.length_ns() as f64 / ns as f64,
    };
    (under_way.and(&slow).length_ms() - usual).max(0.0)
}

/// What threads of a JVM waited for, by the thread's id, in order.
#[derive(Default)]
struct ByThread(HashMap<Option<i64>, Vec<Stretch>>);

/// From, to, and the value asked for, nanoseconds.
type Stretch = (i64, i64, f64);

impl ByThread {
    fn of(recording: &Recording, jvm: ProcessId, kind: &str, figure: &str) -> Self {
        Self::that(recording, jvm, (kind, figure), |_| true)
    }

    /// The same of those that `which` picks.
    fn that(
        recording: &Recording,
        jvm: ProcessId,
        (kind, figure): (&str, &str),
        which: impl Fn(&Span<'_>) -> bool,
    ) -> Self {
        let mut by: HashMap<Option<i64>, Vec<Stretch>> = HashMap::new();
        for span in recording.spans_of(kind).filter(|span| span.process() == jvm && which(span)) {
            let range = (span.t0_ns(), span.t1_ns(), span.figure(figure).unwrap_or(0.0));
            by.entry(tid(recording, &span)).or_default().push(range);
        }
        by.values_mut().for_each(|ranges| ranges.sort_unstable_by_key(|(from, ..)| *from));
        Self(by)
    }

    /// Those of a thread that lie within a span.
    fn within<'b>(&'b self, tid: Option<i64>, span: &Span<'_>) -> impl Iterator<Item = &'b Stretch> {
        let (from, to) = (span.t0_ns(), span.t1_ns());
        let of_it = self.0.get(&tid).map_or(&[][..], Vec::as_slice);
        let first = of_it.partition_point(|range| range.0 < from);
        of_it[first..].iter().take_while(move |range| range.0 < to).filter(move |range| range.1 <= to)
    }
}

/// Id of the thread that a span is of.
fn tid(recording: &Recording, span: &Span<'_>) -> Option<i64> {
    recording.threads.get(span.thread()?.index())?.tid
}

/// Cuts starts into their parts.
struct Cutter<'a> {
    recording: &'a Recording,
    locked: ByThread,
    queued: ByThread,
    listed: ByThread,
}

impl<'a> Cutter<'a> {
    fn of(recording: &'a Recording, jvm: ProcessId) -> Self {
        let locked = ByThread::of(recording, jvm, kind::MEMORY_MAP_LOCK, figure::RUNQ_NS);
        let queued = ByThread::of(recording, jvm, kind::SCHED_OFF, figure::RUNQ_NS);
        // Of short waits no stack may be known: the lock is known by its address.
        let address = |span: &Span<'_>| span.label_id(label::ADDRESS);
        let waits_for_locks = || recording.spans_of(kind::LOCK_NATIVE).filter(|span| span.process() == jvm);
        let mut by_stack: HashMap<StackId, bool> = HashMap::new();
        let mut lists: HashSet<StrId> = HashSet::new();
        for span in waits_for_locks() {
            let Some((stack, address)) = span.stack().zip(address(&span)) else { continue };
            if *by_stack.entry(stack).or_insert_with(|| waits_for_the_list(recording, stack)) {
                lists.insert(address);
            }
        }
        let which = |span: &Span<'_>| address(span).is_some_and(|address| lists.contains(&address));
        let listed = ByThread::that(recording, jvm, (kind::LOCK_NATIVE, figure::RUNQ_NS), which);
        Self { recording, locked, queued, listed }
    }

    /// Milliseconds of each of [`Part::ALL`].
    fn cut(&self, span: &Span<'_>) -> [f64; 6] {
        let ms = |key: &str| span.figure(key).filter(|ns| ns.is_finite() && *ns > 0.0).unwrap_or(0.0) / 1e6;
        let (caller, new) = (tid(self.recording, span), span.figure(figure::NEW_TID).map(|tid| tid as i64));
        let locked = self.locked.within(caller, span);
        let locked = locked.chain(self.locked.within(new, span).filter(|_| new.is_some() && new != caller));
        let locked_ms = Intervals::of(locked.map(|(from, to, _)| (*from, *to))).length_ms();
        // Between its first time slice and Java it may wait for a CPU again: for the caller lets it
        // go on only when it has one.
        let queued = self.queued.within(new, span).filter(|_| new.is_some());
        let queued_ms = queued.map(|(.., runq_ns)| runq_ns).sum::<f64>() / 1e6;
        let (call, waited) = (ms(figure::CALL_NS), ms(figure::WAITED_NS));
        let (first, to_java) = (ms(figure::RUNQ_NS), ms(figure::TO_JAVA_NS));
        let queued = queued_ms.max(first).min(to_java.max(first));
        let mut clone = ms(figure::CLONE_NS);
        let mut aside = (call - clone - waited).max(0.0);
        let mut to_java = (to_java - queued).max(0.0);
        let listed = self.listed.within(caller, span);
        let listed = listed.chain(self.listed.within(new, span).filter(|_| new.is_some() && new != caller));
        let listed_ms = Intervals::of(listed.map(|(from, to, _)| (*from, *to))).length_ms();
        // The locks are waited for within these.
        let within = |lock_ms: f64, parts: [&mut f64; 3]| {
            let mut left = lock_ms;
            for part in parts {
                let taken = left.min(*part);
                *part -= taken;
                left -= taken;
            }
            lock_ms - left
        };
        within(locked_ms, [&mut clone, &mut aside, &mut to_java]);
        let listed_ms = within(listed_ms, [&mut aside, &mut to_java, &mut 0.0]);
        [locked_ms, queued, listed_ms, clone, aside, to_java]
    }
}

/// Whether a stack waits for a lock of the JVM where a thread is put on its list or taken from it
/// (`Threads_lock`, in jvm.cpp and threads.cpp of JDK 8 to 25).
fn waits_for_the_list(recording: &Recording, stack: StackId) -> bool {
    let (mut lock, mut list) = (false, false);
    for name in recording.frames_of(stack).map(|frame| frame.name()) {
        lock |= ["Mutex::lock", "Monitor::lock", "Monitor::ILock"].iter().any(|of| name.starts_with(of));
        list |= ["JVM_StartThread", "Threads::add", "Threads::remove"].contains(&name);
    }
    lock && list
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use fathom_recording::FrameType::{C2, Jvm, Native};

    use super::*;
    use crate::Finding;
    use crate::built::{Built, judged};

    /// Twenty starts, half a second apart; nanoseconds of each part.
    fn starts(ms: f64, call: f64, clone: f64, queued: f64) -> Built {
        let mut built = Built::jvm("17", "G1", 10.0);
        for i in 0..20 {
            let figures = [
                (figure::CALL_NS, call * 1e6),
                (figure::CLONE_NS, clone * 1e6),
                (figure::RUNQ_NS, queued * 1e6),
                (figure::TO_JAVA_NS, (ms - call) * 1e6),
            ];
            built.span(kind::THREAD_STARTUP, &format!("worker-{i}"), f64::from(i) * 0.5, ms, &figures, &[]);
        }
        built
    }

    fn found(recording: &Recording) -> Box<Finding> {
        match judged(&ThreadStartSlow, recording) {
            Judgement::Found(finding) => finding,
            other => panic!("{other:?}"),
        }
    }

    /// The part that slow starts spent most of their time on.
    fn most(finding: &Finding) -> Option<&Value> {
        finding.fact(&facts::SLOW_STARTS).detail("parts")?.parts()[0].detail("part")
    }

    #[test]
    fn the_part_that_took_most_is_named() {
        let queued = found(&starts(100.0, 1.0, 0.5, 98.0).sealed());
        let slow = queued.fact(&facts::SLOW_STARTS);
        assert_eq!((slow.number("value"), slow.number("total")), (Some(20.0), Some(2_000.0)));
        assert_eq!(most(&queued), Some(&Part::RunQueue.named()));
        let cloned = found(&starts(100.0, 99.0, 98.0, 0.1).sealed());
        assert_eq!(most(&cloned), Some(&Part::Clone.named()));
    }

    #[test]
    fn a_thread_without_a_name_is_not_named() {
        let cited = |name: &str| {
            let mut built = Built::jvm("17", "G1", 10.0);
            for i in 0..20 {
                let figures = [(figure::CALL_NS, 1e6), (figure::TO_JAVA_NS, 99e6)];
                built.span(kind::THREAD_STARTUP, name, f64::from(i) * 0.5, 100.0, &figures, &[]);
            }
            let found = found(&built.sealed());
            found.facts(&facts::START).map(|start| start.name("thread").map(str::to_owned)).next()
        };
        assert_eq!((cited("mailer"), cited("")), (Some(Some("mailer".into())), Some(None)));
    }

    #[test]
    fn the_lock_of_the_address_space_is_distinguished_from_what_it_is_waited_for_in() {
        let mut built = starts(100.0, 99.0, 1.0, 0.1);
        for i in 0..20 {
            built.span(kind::MEMORY_MAP_LOCK, "write", f64::from(i) * 0.5 + 0.005, 90.0, &[], &[]);
        }
        let locked = found(&built.sealed());
        assert_eq!(most(&locked), Some(&Part::MapLock.named()));
    }

    /// The caller waits for the JVM's lock; of the second half of the waits no stack is known.
    #[test]
    fn waits_for_the_jvms_list_of_threads_are_known_by_their_lock() {
        let mut built = starts(100.0, 99.0, 1.0, 0.1);
        let lock = [(label::ADDRESS, "0x7f00")];
        let stack = [("Mutex::lock_contended", Jvm), ("JVM_StartThread", Jvm), ("shop.Notices.order", C2)];
        for i in 0..20 {
            let frames = if i < 10 { &stack[..] } else { &[] };
            let at = (f64::from(i) * 0.5 + 0.002, 90.0);
            built.with_stack((kind::LOCK_NATIVE, "mutex"), "main", frames, &lock, at);
            let malloc = [("__lll_lock_wait", Native), ("shop.Notices.order", C2)];
            let other = [(label::ADDRESS, "0x7f99")];
            let at = (f64::from(i) * 0.5 + 0.001, 0.5);
            built.with_stack((kind::LOCK_NATIVE, "mutex"), "main", &malloc, &other, at);
        }
        let cutter_of = built.sealed();
        let jvm = ProcessId(0);
        let listed = Cutter::of(&cutter_of, jvm).listed;
        let all: Vec<_> = listed.0.values().flatten().collect();
        assert_eq!(all.len(), 20, "{all:?}");
        assert!(all.iter().all(|(from, to, _)| to - from == 90_000_000), "{all:?}");
    }

    #[test]
    fn starts_side_by_side_cost_the_time_that_passes_and_prove_nothing() {
        let mut built = Built::jvm("17", "G1", 60.0);
        for i in 0..200 {
            // Ten callers at a time, each of whom waits 400 ms in all.
            let at = 20.0 + f64::from(i / 10) * 0.4;
            let row = [(figure::CALL_NS, 40e6), (figure::TO_JAVA_NS, 1e6)];
            built.span(kind::THREAD_STARTUP, &format!("worker-{i}"), at, 41.0, &row, &[]);
        }
        let recording = built.sealed();
        let case = crate::built::slow_and_base(&recording, (20, 28), (30, 60), 0.1);
        let Judgement::Found(finding) = ThreadStartSlow.judge(&case, ProcessId(0)) else {
            panic!("not found")
        };
        assert!((finding.cost_ms - 820.0).abs() < 1.0, "8.2 s of threads in 20 × 41 ms: {}", finding.cost_ms);
        assert_eq!(finding.confidence, Confidence::Likely, "{:?}", finding.why_confidence);
    }

    #[test]
    fn quick_starts_and_threads_that_the_jvm_makes_for_itself_are_no_cause() {
        assert!(matches!(
            judged(&ThreadStartSlow, &starts(0.3, 0.2, 0.05, 0.02).sealed()),
            Judgement::RuledOut { .. }
        ));
        let mut compiler = Built::jvm("17", "G1", 10.0);
        compiler.span(kind::THREAD_STARTUP, "C2 CompilerThread1", 1.0, 900.0, &[(figure::RUNQ_NS, 8e8)], &[]);
        assert!(matches!(judged(&ThreadStartSlow, &compiler.sealed()), Judgement::NotApplicable));
    }
}
