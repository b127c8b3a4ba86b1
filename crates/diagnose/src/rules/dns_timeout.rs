//! `dns-timeout`: a resolver does not answer, and each look-up waits until it gives up.

use fathom_recording::vocabulary::{figure, kind};
use fathom_recording::{ProcessId, Span};

use super::dns_case::{self, asked, timed_out};
use super::wait_case::{Waits, unseen};
use crate::confidence::Ground;
use crate::facts::{Value, checks, meanings, reasons, remedies, titles, waits as facts};
use crate::{Case, Judgement, Layer, Rule};

/// resolv.conf(5): how long a server is waited for unless `options timeout:` says otherwise,
/// milliseconds.
const DEFAULT_TIMEOUT_MS: f64 = 5_000.0;
/// How exactly a wait keeps to it, milliseconds: a busy machine is late by some tens.
const EXACT_MS: f64 = 250.0;
/// Look-ups cited.
const CITED: usize = 3;

/// The rule.
pub struct DnsTimeout;

/// Whether a look-up whose questions were not seen took a multiple of the default time-out.
fn looks_timed_out(span: &Span<'_>) -> bool {
    let ms = span.duration_ns() as f64 / 1e6;
    let times = (ms / DEFAULT_TIMEOUT_MS).floor();
    span.figure(figure::TIMEOUTS).is_none() && times >= 1.0 && ms - times * DEFAULT_TIMEOUT_MS <= EXACT_MS
}

impl Rule for DnsTimeout {
    fn id(&self) -> &'static str {
        "dns-timeout"
    }

    fn layer(&self) -> Layer {
        Layer::Network
    }

    fn about(&self) -> &'static str {
        "A query to a resolver is lost: the server is gone, a firewall drops it, or drops one of the two queries (A \
         and AAAA) that the C library sends together. The thread waits for the whole time-out (5 s unless \
         `options timeout:` says otherwise), then retransmits, or asks the next server.\n\n\
         **Evidence.** Queries to port 53 whose wait ended by time-out, seen live or in an strace. Where only the length of \
         the look-up is known, lengths at multiples of 5 s, which is weaker and reported.\n\n\
         **Confounders.** A late answer is `dns-slow`: the wait ends when it comes, and not at a round time.\n\n\
         **Ruled out** by the number of look-ups that all were answered."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Lookups]
    }

    fn of_any_program(&self) -> bool {
        true
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        let Some(all) = Waits::of(case, jvm, kind::NET_DNS, |_| true) else {
            return unseen(self, (case, jvm), kind::NET_DNS, "name look-ups");
        };
        let questions = dns_case::Questions::of(case, jvm);
        let lost = questions.any_lost();
        let which = |s: &Span<'_>| timed_out(s) || looks_timed_out(s) || (lost && dns_case::is_unanswered(s));
        let Some(waits) = Waits::of(case, jvm, kind::NET_DNS, which) else { return Judgement::NotApplicable };
        let waits = waits.and_of(kind::SYSCALL, |span| questions.is_lost(span));
        let waits = if lost { dns_case::with_those_behind(waits) } else { waits };
        if waits.slow.is_empty() || !case.matters(waits.cost_ms()) {
            // What was seen of them in a part of the time rules nothing out.
            if !all.is_whole(kind::NET_DNS) {
                return unseen(self, (case, jvm), kind::NET_DNS, "name look-ups");
            }
            if all.slow.is_empty() {
                return all.ruled_out(facts::NO_LOOKUP.fact());
            }
            let unanswered = all.slow.iter().filter(|wait| dns_case::is_unanswered(&wait.span)).count();
            let seen = all.slow.iter().all(|wait| wait.span.figure(figure::TIMEOUTS).is_some());
            let metric = if seen { &facts::NO_TIME_OUT } else { &facts::NO_ROUND_LENGTH };
            let fact = metric.is(Value::count(all.slow.len())).with("longest", Value::ms(all.longest_ms()));
            return all
                .ruled_out(fact.with("unanswered", (unanswered > 0).then(|| Value::count(unanswered))));
        }
        let seen = lost || waits.slow.iter().any(|w| timed_out(&w.span));
        let sure = match seen {
            true => Ground::Itself.sure(case, waits.cost_ms(), &reasons::QUERIES_LOST),
            false => Ground::Fits.because(case, waits.cost_ms(), &reasons::ONLY_LENGTH),
        };
        let mut finding = waits.finding(self, sure);
        let of_lookups: f64 = waits.slow.iter().filter_map(|w| w.span.figure(figure::TIMEOUTS)).sum();
        let alone = waits.slow.iter().filter(|w| w.span.kind() == kind::SYSCALL).count();
        let behind = waits.slow.iter().filter(|w| dns_case::is_lock(&w.span)).count();
        let lost = of_lookups + alone as f64;
        // Of look-ups that began before the recording, their questions are known, not how many they
        // are.
        let title = titles::DNS_TIMEOUT.is(Value::ms(waits.total_ms()));
        finding.title = match alone + behind > 0 {
            true => title.with("threads", Value::count(waits.threads())).into(),
            false => title.with("lookups", Value::count(waits.slow.len())).into(),
        };
        finding.culprit = dns_case::resolver(&waits).into();
        finding.meaning = meanings::QUERY_LOST.fact().into();
        if seen && lost > 0.0 {
            let fact = facts::TIMED_OUT.is(Value::counted(lost)).with("waited", Value::ms(waits.total_ms()));
            finding.evidence.push(waits.summed(fact.with("threads", Value::count(waits.threads()))));
        }
        finding.evidence.extend(waits.longest(CITED, asked));
        finding.remedies = vec![
            remedies::ANSWERING_SERVER.remedy(),
            remedies::SHORTER_TIMEOUT.remedy(),
            remedies::NO_SEARCH_DOMAINS.remedy(),
        ];
        finding.verify = vec![checks::DIG.fact().into(), checks::NO_LOOK_UP_TIMED_OUT.fact().into()];
        Judgement::Found(Box::new(finding))
    }
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use fathom_recording::vocabulary::label;
    use fathom_recording::{Sink as _, Source, Unseen};

    use super::*;
    use crate::built::{Built, judged};

    fn look_up(ms: f64, timeouts: Option<f64>) -> Judgement {
        let mut built = Built::jvm("17", "G1", 20.0);
        let figures: Vec<_> = timeouts.map(|n| (figure::TIMEOUTS, n)).into_iter().collect();
        built.span(kind::NET_DNS, "db.test", 1.0, ms, &figures, &[]);
        judged(&DnsTimeout, &built.sealed())
    }

    #[test]
    fn a_lost_question_is_seen_and_a_round_length_is_only_consistent_with_one() {
        let Judgement::Found(seen) = look_up(4_003.0, Some(2.0)) else { panic!() };
        assert_eq!(seen.confidence, Confidence::Likely);
        let Judgement::Found(round) = look_up(5_031.0, None) else { panic!() };
        assert_eq!(round.confidence, Confidence::ConsistentWith);
        assert!(matches!(look_up(4_100.0, None), Judgement::RuledOut { .. }));
        assert!(matches!(look_up(4_100.0, Some(0.0)), Judgement::RuledOut { .. }));
    }

    #[test]
    fn one_look_up_was_answered_and_two_were() {
        let Judgement::RuledOut { figure, .. } = look_up(4_100.0, None) else { panic!() };
        let lookups = figure.fact().find(&facts::NO_ROUND_LENGTH).unwrap_or_else(|| panic!("{figure:?}"));
        let numbers = ["value", "longest", "unanswered"].map(|name| lookups.number(name));
        assert_eq!(numbers, [Some(1.0), Some(4_100.0), None]);
    }

    /// Two threads ask a resolver that answers nobody; their look-ups began before the recording,
    /// or had not ended with it.
    #[test]
    fn look_ups_that_begin_before_the_recording_or_end_after_it_are_not_answered() {
        let mut built = Built::jvm("17", "G1", 10.0);
        let lost = [(figure::RESULT, 0.0)];
        let cut = [(label::CUT, "the recording ended")];
        for thread in ["request-1", "request-2"] {
            let began = [(label::PEER, "10.0.0.2:53"), (label::CUT, "began before the recording")];
            built.call_with(thread, "poll", (0.0, 1_300.0), &lost, &began);
            built.call_with(thread, "poll", (1.3, 5_004.0), &lost, &[(label::PEER, "10.0.0.2:53")]);
            built.lookup(thread, "db.test", (6.4, 3_600.0), &cut);
        }
        let case = built.sealed();
        let Judgement::Found(finding) = judged(&DnsTimeout, &case) else { panic!() };
        let lost = finding.fact(&facts::TIMED_OUT);
        let numbers = ["threads", "waited"].map(|name| lost.number(name).unwrap().round());
        assert_eq!(numbers, [2.0, 19_808.0]);
        assert_eq!((finding.confidence, finding.named()), (Confidence::Likely, "10.0.0.2:53"));
        assert!(!matches!(judged(&super::super::dns_slow::DnsSlow, &case), Judgement::Found(_)));
    }

    /// No question was seen to time out: nobody knows whether the resolver will answer.
    #[test]
    fn a_look_up_without_an_answer_yet_is_not_called_answered() {
        let mut built = Built::jvm("17", "G1", 10.0);
        built.lookup("request-1", "db.test", (6.4, 3_600.0), &[(label::CUT, "the recording ended")]);
        let case = built.sealed();
        let Judgement::RuledOut { figure, .. } = judged(&DnsTimeout, &case) else { panic!() };
        assert_eq!(figure.fact().number("unanswered"), Some(1.0), "{figure:?}");
        let Judgement::Found(slow) = judged(&super::super::dns_slow::DnsSlow, &case) else { panic!() };
        assert_eq!(slow.fact(&facts::SLOW_LOOKUPS).number("unanswered"), Some(1.0));
    }

    #[test]
    fn a_collector_that_was_there_throughout_and_saw_nothing_rules_out() {
        let with = |source: Source| {
            let mut built = Built::jvm("21", "G1", 100.0);
            built.recording.add_source(source);
            judged(&DnsTimeout, &built.sealed())
        };
        let there = Source { format: "network".into(), covers_ns: Some((0, 1)), ..Source::default() };
        assert!(
            matches!(with(there.clone()), Judgement::RuledOut { figure, .. } if figure.fact() == &facts::NO_LOOKUP.fact())
        );
        let why =
            Unseen { scope: None, what: "names".into(), why: "stripped".into(), remedy: "symbols".into() };
        for less in [
            Source { covers_ns: None, ..there.clone() },
            Source { lost: 1, ..there.clone() },
            Source { unseen: vec![why], ..there },
        ] {
            assert!(matches!(with(less), Judgement::Inconclusive(_)));
        }
    }
}
