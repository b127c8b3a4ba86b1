//! `page-fault-storm`: threads spend their time in the kernel's handling of page faults.

#[cfg(test)]
mod tests;
mod words;

use self::words::{called, in_short, meaning, remedies};
use super::fault_case::{Faults, PAGE};
use super::gc_case::{WHOLE_RUN_SHARE, blind, summed};
use crate::chain::Did;
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, faults as facts, reasons, scope, switch_on, titles};
use crate::intervals::Intervals;
use crate::sight::left_out;
use crate::waits::Category;
use crate::{Case, Fact, Finding, Judgement, Layer, Rule};
use fathom_recording::vocabulary::{fact, fault, kind, memory_stall, source};
use fathom_recording::{ProcessId, ThreadId};

/// Share of the fetched bytes that must have been given back meanwhile for the one to be blamed on
/// the other.
const GIVEN_BACK: f64 = 0.5;

/// More of the heap than so many times its largest size was fetched: it is given back in between.
const AGAIN: f64 = 1.2;

/// Share of the faults from which on writes to protected pages are the story.
const PROTECTED: f64 = 0.5;

/// Mean length of a fault from which on it waited for something, milliseconds: to find a page takes
/// some microseconds, to zero 2 MB a tenth of a millisecond or two.
const WAITED_MS: f64 = 1.0;

/// Methods and threads that are named.
const NAMED: usize = 3;
/// Part of the time in faults that a mapping must take to stand for all.
const MOST_OF_THEM: f64 = 0.5;

/// The rule.
pub struct PageFaultStorm;

/// Why pages are fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// The heap's memory was never used before.
    HeapGrows,
    /// The heap gives memory back and fetches it again.
    HeapReturned,
    /// The C library gives memory back and fetches it again.
    AllocatorReturns,
    /// Native memory that was never used before.
    NativeGrows,
    /// Threads begin.
    Stacks,
    /// A file is mapped rather than read.
    MappedFile,
    /// Clean pages of mapped files are written to.
    FileWritten,
    /// Pages are copied when they are written to.
    Copies,
    /// Each fault waited, for a disk or a file system: with the words of the chain.
    Waited,
    /// The control group is at its limit of memory: pages are dropped and read again.
    MemoryLimit,
    /// Nothing shows why.
    Unknown,
}

impl Rule for PageFaultStorm {
    fn id(&self) -> &'static str {
        "page-fault-storm"
    }

    fn layer(&self) -> Layer {
        Layer::Memory
    }

    fn about(&self) -> &'static str {
        "The kernel hands out a page when it is first touched: the thread traps, the kernel finds or zeroes a page, maps it, \
         and the thread goes on some microseconds later. Memory that is given back and fetched again and again, or that \
         grows quickly, turns that into a large part of a thread's time. A profile shows it in whatever Java method happens \
         to touch the memory, which is innocent.\n\n\
         **Evidence.** Every fault as `fathom record` counts and times it, by thread and mapping: the time in faults above \
         the baseline's, for the application's threads and the collector's each by as many as share it. Without counts, CPU \
         samples with frames of the kernel (`asm_exc_page_fault`) give the time, and not the mapping. The mapping, what \
         was given back to the kernel meanwhile (munmap, madvise) and who touched the pages show why.\n\n\
         **Confounders.** Kernel time of system calls has no frame of a fault. Faults that take a millisecond and more on average waited for \
         something: a disk, a frozen file system (the chain says which), or, where the control group has no memory left, \
         pages that were dropped and are read again. Kernel-heavy collections of a log without a recording are \
         `gc-first-touch` or `gc-kernel-time`. At start-up every JVM fetches its memory: that counts only where it was a good part of the \
         time looked at.\n\n\
         **Ruled out** by the time in page faults found."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::PageFaults]
    }

    fn of_any_program(&self) -> bool {
        true
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        let Some(faults) = Faults::of(case, jvm) else {
            let left_out = left_out(case.recording, source::MEMORY);
            let remedy = left_out.unwrap_or_else(|| switch_on::FAULTS.fact());
            return blind(self, scope::PAGE_FAULTS.fact(), remedy);
        };
        let cost_ms = faults.cost_ms();
        let measured_loss = !case.whole_run || case.loss.lost_ms > 0.0;
        let worth = case.matters(cost_ms)
            && (measured_loss || cost_ms >= WHOLE_RUN_SHARE * Case::length_ms(&case.slow));
        if !worth {
            let total = faults.total();
            let seconds = Case::length_ms(&case.slow) / 1e3;
            let rate = (faults.measured && seconds > 0.0).then(|| Value::per_second(total.faults / seconds));
            let little = facts::LITTLE.is(Value::ms(total.ms)).with("rate", rate);
            let little = little.with("cost", Value::ms(cost_ms)).with("above", above(case));
            return Judgement::RuledOut { figure: little.into(), source: faults.source() };
        }
        Judgement::Found(Box::new(found(self, &faults, jvm, cost_ms)))
    }
}

/// What costs are, where there is a baseline.
fn above(case: &Case<'_>) -> Option<Value> {
    (!case.base.is_empty()).then(|| Value::from(facts::ABOVE.fact()))
}

/// Why the most expensive mapping is touched, as far as that is known.
fn why(faults: &Faults<'_, '_>, mapping: &str, bytes: f64, protect_share: f64, heap_max: Option<f64>) -> Why {
    // A page of a file that many map is not copied: its file system is asked first, so that it is
    // written back later.
    let of_file = mapping.starts_with('/');
    if (protect_share >= PROTECTED && !of_file) || mapping.starts_with(fault::PRIVATE_COPY) {
        return Why::Copies;
    }
    if protect_share >= PROTECTED {
        return Why::FileWritten;
    }
    match mapping {
        fault::HEAP if heap_max.is_some_and(|max| faults.ever_in(mapping) * PAGE > AGAIN * max) => {
            Why::HeapReturned
        }
        fault::HEAP => Why::HeapGrows,
        fault::ANONYMOUS | fault::MALLOC | fault::ARENA | fault::NOT_SEEN => {
            if faults.given_back_bytes() >= GIVEN_BACK * bytes {
                Why::AllocatorReturns
            } else {
                Why::NativeGrows
            }
        }
        fault::STACK => Why::Stacks,
        file if file.starts_with('/') => Why::MappedFile,
        _ => Why::Unknown,
    }
}

fn found(rule: &dyn Rule, faults: &Faults<'_, '_>, jvm: ProcessId, cost_ms: f64) -> Finding {
    let case = faults.case;
    let fact = |key: &str| case.recording.processes.get(jvm.index()).and_then(|p| p.fact(key));
    let heap_max = fact(fact::HEAP_MAX_BYTES).and_then(|bytes| bytes.parse().ok());
    let (total, base) = (faults.total(), faults.base_total());
    let mappings = faults.mappings();
    let (mapping, sum) = mappings.first().map_or(("", total), |(mapping, sum, _)| (*mapping, *sum));
    let known = faults.measured && !mapping.is_empty();
    let protect = if sum.faults > 0.0 { sum.protect / sum.faults } else { 0.0 };
    let waited = faults.measured && total.ms >= WAITED_MS * total.faults.max(1.0);
    let why = match () {
        () if at_its_limit(case, jvm) && total.major > 0.0 => Why::MemoryLimit,
        () if waited => Why::Waited,
        () if known => why(faults, mapping, sum.faults * PAGE, protect, heap_max),
        () => Why::Unknown,
    };
    let by_collector = known && faults.collectors_share(mapping) >= 0.5;
    let methods = faults.touched_by(known.then_some(mapping));
    let toucher = methods.first().map(|(method, _)| *method);

    let sure = match faults.measured {
        true => Ground::Itself.sure(case, cost_ms, &reasons::FAULTS_TIMED),
        false => Ground::Traces.sure(case, cost_ms, &reasons::FAULTS_SAMPLED),
    };
    let mut finding = case.finding(rule, jvm, sure, cost_ms);
    let all_ms: f64 = mappings.iter().map(|(_, _, ms)| *ms).sum();
    let is_most = mappings.first().is_none_or(|(_, _, ms)| *ms >= MOST_OF_THEM * all_ms);
    let title = titles::PAGE_FAULT_STORM.is(Value::ms(total.ms)).with("cause", Value::name(in_short(why)));
    let title = title.with("mappings", (known && !is_most).then(|| Value::count(mappings.len())));
    let title = title.with("mapping", known.then(|| Value::Name(called(mapping))));
    let memory = Fact { value: known.then(|| Value::name(mapping)), ..culprits::MEMORY.fact() };
    finding.title = title.into();
    finding.culprit = memory.with("method", toucher.map(Value::name)).into();
    finding.meaning = meaning(why, by_collector, toucher).into();
    finding.windows = case.slow.clone();

    let source = faults.source();
    let seconds = |windows: &[crate::Window]| Case::length_ms(windows) / 1e3;
    if faults.measured {
        let of_base = |faults: f64| Value::per_second(faults / seconds(&case.base).max(1e-9));
        let rate = facts::RATE.is(Value::per_second(total.faults / seconds(&case.slow).max(1e-9)));
        let rate = rate.over((!case.base.is_empty()).then(|| of_base(base.faults)));
        let rate = rate.with("each", Value::ms(total.ms / total.faults.max(1.0)));
        let rate = rate.with("major", Value::counted(total.major)).with("cause", Value::name(why.id()));
        finding.evidence.push(summed(source.clone(), rate));
        let one = |(mapping, sum, ms): &(&str, super::fault_case::Sum, f64)| {
            let fact = facts::MAPPING.is(Value::ms(*ms)).with("mapping", Value::name(*mapping));
            fact.with("faults", Value::counted(sum.faults)).with("above", above(case))
        };
        let list = Value::list(mappings.iter().take(NAMED).map(one));
        finding.evidence.push(summed(source.clone(), facts::MAPPINGS.fact().with("mappings", list)));
    } else {
        finding.evidence.push(summed(source.clone(), facts::SAMPLED.is(Value::ms(total.ms))));
    }
    if !methods.is_empty() {
        let one = |(method, share): &(&str, f64)| {
            facts::TOUCHED_IN.is(Value::share(*share)).with("method", Value::name(*method))
        };
        let list = Value::list(methods.iter().take(NAMED).map(one));
        finding.evidence.push(summed(source.clone(), facts::TOUCHED_BY.fact().with("methods", list)));
    }
    let threads = faults.threads();
    if !threads.is_empty() {
        let one = |(thread, ms): &(&str, f64)| {
            facts::THREAD.is(Value::ms(*ms)).with("thread", Value::name(*thread))
        };
        let list = Value::list(threads.iter().take(NAMED).map(one));
        finding.evidence.push(summed(source.clone(), facts::THREADS.fact().with("threads", list)));
    }
    let given = faults.given_back_bytes();
    if given > 0.0 {
        finding.evidence.push(summed(source, facts::GIVEN_BACK.is(Value::bytes(given))));
    }
    if matches!(why, Why::Waited | Why::MemoryLimit) {
        let one = |did: &Did| facts::WAIT.is(Value::ms(did.ms)).with("what", Value::from(&did.what));
        let waits: Vec<Fact> = waited_for(case, jvm).iter().take(NAMED).map(one).collect();
        if let Some(most) = waits.first() {
            finding.title.add("waited", Value::from(most.clone()));
            let source = finding.evidence.first().map_or_else(Default::default, |e| e.source.clone());
            let waits = facts::WAITED_FOR.fact().with("waits", Value::list(waits));
            finding.evidence.push(summed(source, waits));
        }
    }
    finding.remedies = remedies(why);
    finding.verify = vec![checks::FEWER_FAULTS.fact().into(), checks::MINFLT.fact().into()];
    finding
}

/// Whether the JVM was held up in the slow windows because its control group had no memory left.
fn at_its_limit(case: &Case<'_>, jvm: ProcessId) -> bool {
    let mut stalls = case.spans_in(kind::MEMORY_STALL, jvm, &case.slow);
    stalls.any(|stall| stall.name() == memory_stall::GROUP_RECLAIM)
}

/// What threads of a JVM waited for in page faults of the slow windows, by the chain.
fn waited_for(case: &Case<'_>, jvm: ProcessId) -> Vec<Did> {
    let slow = Intervals::of_windows(&case.slow);
    let threads = case.recording.threads.iter().enumerate().filter(|(_, thread)| thread.process == jvm);
    let faulting = threads.filter_map(|(i, _)| {
        let thread = ThreadId(i as u32);
        let intervals = case.chains().by_category(thread)?[Category::PageFault.index()].and(&slow);
        (!intervals.is_empty()).then_some((thread, intervals))
    });
    let intervals: Vec<(ThreadId, Intervals)> = faulting.collect();
    case.chains().did(&intervals, None).0
}
