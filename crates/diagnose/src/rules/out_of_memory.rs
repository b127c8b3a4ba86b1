//! `out-of-memory`: the JVM says that it has no memory left, or that it is about to give up.

use fathom_recording::vocabulary::kind;
use fathom_recording::{ProcessId, Span};

use super::finalizer_backlog;
use super::gc_case::cited;
use crate::confidence::Ground;
use crate::facts::{Metric, Value, checks, culprits, meanings, reasons, remedies, titles, written};
use crate::{Case, Judgement, Layer, Remedy, Rule};

/// The VM operation in which the JVM runs what `-XX:OnOutOfMemoryError` names, or ends.
const REPORTS: &str = "ReportJavaOutOfMemory";
/// Records that are cited.
const CITED: usize = 3;

/// The rule.
pub struct OutOfMemory;

impl Rule for OutOfMemory {
    fn id(&self) -> &'static str {
        "out-of-memory"
    }

    fn layer(&self) -> Layer {
        Layer::Application
    }

    fn about(&self) -> &'static str {
        "The JVM threw an `OutOfMemoryError`, or it was about to: the parallel collector gives up when collections take \
         98% of the time and free less than 2% of the heap (GC overhead limit).\n\n\
         **Evidence.** The lines in which the JVM says so, in its log or between the records of it: \
         `java.lang.OutOfMemoryError`, `Out Of Memory`, `GC time is exceeding GCTimeLimit`, `GC overhead limit`; or the \
         safepoint in which it reports the error (`ReportJavaOutOfMemory`). One is \
         enough, whatever time it took.\n\n\
         **Confounders.** No other cause prints the same lines. What fills the memory is not in a GC log: `heap-leak` and \
         `gc-heap-too-small` show whether it grows."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Collections]
    }

    fn is_about_stops(&self) -> bool {
        true
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        let of = |kind: &'static str| case.recording.spans_of(kind).filter(move |w| w.process() == jvm);
        let mut said: Vec<(What, Span<'_>)> =
            of(kind::JVM_WARNING).filter_map(|w| Some((What::of(w.name())?, w))).collect();
        if said.is_empty() {
            let reported = of(kind::SAFEPOINT).filter(|s| s.name() == REPORTS);
            said.extend(reported.map(|s| (What::Heap, s)));
        }
        let Some(worst) = said.iter().map(|(what, _)| *what).min() else {
            return Judgement::NotApplicable;
        };
        let why = &reasons::SAID_BY_JVM;
        let mut finding = case.finding(self, jvm, Ground::Incomplete.because(case, 0.0, why), 0.0);
        let times = said.iter().filter(|(what, _)| *what == worst).count();
        finding.title = worst.title().is(Value::count(times)).into();
        finding.culprit = worst.culprit().fact().into();
        finding.meaning = meanings::OUT_OF_MEMORY.fact().into();
        let mut cited_spans: Vec<&Span<'_>> = Vec::new();
        for (_, span) in &said {
            if cited_spans.len() < CITED && cited_spans.iter().all(|known| known.name() != span.name()) {
                cited_spans.push(span);
            }
        }
        finding.evidence =
            cited_spans.iter().map(|span| cited(span, written::LINE.is(Value::name(span.name())))).collect();
        finding.windows = super::gc_case::ranges(said.iter().map(|(_, span)| *span));
        finding.remedies = remedies(worst);
        finding.verify = vec![checks::NO_SUCH_LINE.fact().into()];
        if worst != What::Metaspace {
            finalizer_backlog::tell(case, jvm, &mut finding);
        }
        Judgement::Found(Box::new(finding))
    }
}

/// What there was none of, the gravest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Metaspace,
    Heap,
    Overhead,
}

impl What {
    fn of(text: &str) -> Option<Self> {
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if has(&["OutOfMemoryError", "Out Of Memory (", "out of memory", REPORTS]) {
            let classes = has(&["Metaspace", "PermGen", "Compressed class space"]);
            return Some(if classes { Self::Metaspace } else { Self::Heap });
        }
        let limit = has(&["GCTimeLimit", "overhead limit", "Overhead Limit"]);
        limit.then_some(Self::Overhead)
    }

    fn title(self) -> &'static Metric {
        match self {
            Self::Metaspace => &titles::OUT_OF_METASPACE,
            Self::Heap => &titles::OUT_OF_HEAP,
            Self::Overhead => &titles::OVERHEAD_LIMIT,
        }
    }

    fn culprit(self) -> &'static Metric {
        match self {
            Self::Metaspace => &culprits::NO_METASPACE,
            Self::Heap | Self::Overhead => &culprits::NO_HEAP,
        }
    }
}

fn remedies(what: What) -> Vec<Remedy> {
    let dump = remedies::DUMP_WHEN_OUT_OF_MEMORY.remedy();
    let larger = match what {
        What::Metaspace => remedies::MORE_METASPACE.remedy(),
        What::Heap | What::Overhead => remedies::LARGER_HEAP_UNLESS_IT_GROWS.remedy(),
    };
    vec![dump, larger]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::{Built, judged};

    #[test]
    fn an_error_is_named_with_what_there_was_none_of() {
        for (text, title) in [
            ("java.lang.OutOfMemoryError: Java heap space", &titles::OUT_OF_HEAP),
            ("java.lang.OutOfMemoryError: Metaspace", &titles::OUT_OF_METASPACE),
            ("GC time is exceeding GCTimeLimit of 98%", &titles::OVERHEAD_LIMIT),
            ("safepoint ReportJavaOutOfMemory", &titles::OUT_OF_HEAP),
        ] {
            let mut built = Built::jvm("8", "Parallel", 60.0);
            built.span(kind::JVM_WARNING, text, 50.0, 0.0, &[], &[]);
            let Judgement::Found(finding) = judged(&OutOfMemory, &built.sealed()) else { panic!("{text}") };
            assert_eq!(finding.title.fact().metric, title);
            assert!(finding.facts(&written::LINE).any(|line| line.name("value") == Some(text)));
        }
    }

    #[test]
    fn another_warning_is_none() {
        let mut built = Built::jvm("8", "Parallel", 60.0);
        built.span(kind::JVM_WARNING, "CodeCache is full. Compiler has been disabled.", 50.0, 0.0, &[], &[]);
        assert_eq!(judged(&OutOfMemory, &built.sealed()), Judgement::NotApplicable);
    }
}
