//! `dns-slow`: names are resolved, and it takes long.

use fathom_recording::vocabulary::kind;
use fathom_recording::{ProcessId, Span};

use super::dns_case::{self, asked, timed_out};
use super::wait_case::{Waits, unseen};
use crate::confidence::Ground;
use crate::facts::{Value, checks, meanings, reasons, remedies, titles, waits as facts};
use crate::waits::Category;
use crate::{Case, Judgement, Layer, Rule};

/// A look-up that takes at least this long is slow, milliseconds: a resolver near by answers within
/// some, one far away within a hundred.
const SLOW_MS: f64 = 100.0;
/// Look-ups cited.
const CITED: usize = 3;

/// The rule.
pub struct DnsSlow;

impl Rule for DnsSlow {
    fn id(&self) -> &'static str {
        "dns-slow"
    }

    fn layer(&self) -> Layer {
        Layer::Network
    }

    fn about(&self) -> &'static str {
        "A thread that connects by name first asks a resolver, and waits for it inside the C library, where neither \
         JFR nor a Java stack shows more than a native method. The request's time-out runs meanwhile.\n\n\
         **Evidence.** Look-ups as they were seen: `getaddrinfo` from call to return, or the queries to port 53 and \
         their answers in an strace. From 100 ms on a look-up is slow.\n\n\
         **Confounders.** An answer that never came is `dns-timeout`. A connection that is slow after its name was \
         resolved is the peer's or the network's.\n\n\
         **Ruled out** by the longest look-up seen. The JVM keeps answers for 30 s \
         (`networkaddress.cache.ttl`), so that only some requests pay."
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
        // A resolver that let questions go unanswered owes these answers too.
        let questions = dns_case::Questions::of(case, jvm);
        let lost = questions.any_lost();
        let is_long = |span: &Span<'_>| span.duration_ns() as f64 / 1e6 >= SLOW_MS;
        let long =
            |span: &Span<'_>| is_long(span) && !timed_out(span) && !(lost && dns_case::is_unanswered(span));
        let Some(waits) = Waits::of(case, jvm, kind::NET_DNS, long) else { return Judgement::NotApplicable };
        let waits = waits.and_of(kind::SYSCALL, |span| is_long(span) && questions.is_answered(span));
        // Where questions are lost as well, nothing shows whom the others wait behind.
        let behind = !waits.slow.is_empty() && !lost;
        let mut waits = if behind { dns_case::with_those_behind(waits) } else { waits };
        if behind {
            waits.attributed_ms = case.attributed.ms(jvm, Category::Dns);
        }
        if waits.slow.is_empty() || !case.matters(waits.cost_ms()) {
            // What was seen of them in a part of the time rules nothing out.
            if !all.is_whole(kind::NET_DNS) {
                return unseen(self, (case, jvm), kind::NET_DNS, "name look-ups");
            }
            if all.slow.is_empty() {
                return all.ruled_out(facts::NO_LOOKUP.fact());
            }
            let longest = facts::LONGEST_LOOKUP.is(Value::ms(all.longest_ms()));
            return all.ruled_out(longest.with("lookups", Value::count(all.slow.len())));
        }
        let sure = Ground::Itself.sure(case, waits.cost_ms(), &reasons::LOOKUPS_TIMED);
        let mut finding = waits.finding(self, sure);
        let (lookups, behind): (Vec<_>, Vec<_>) =
            waits.slow.iter().partition(|wait| !dns_case::is_lock(&wait.span));
        let unanswered = lookups.iter().filter(|wait| dns_case::is_unanswered(&wait.span)).count();
        let total = Value::ms(lookups.iter().map(|wait| wait.ms).sum());
        let longest = Value::ms(lookups.iter().map(|wait| wait.ms).fold(0.0, f64::max));
        let unanswered = (unanswered > 0).then(|| Value::count(unanswered));
        let behind = (!behind.is_empty()).then(|| Value::ms(behind.iter().map(|wait| wait.ms).sum()));
        let title = titles::DNS_SLOW.is(total.clone()).with("lookups", Value::count(lookups.len()));
        let title = title.with("longest", longest).with("unanswered", unanswered.clone());
        finding.title = title.with("behind", behind.clone()).into();
        finding.culprit = dns_case::resolver(&waits).into();
        let names = waits.by(|span| match span.kind() {
            kind::NET_DNS => span.name().to_owned(),
            _ => String::new(),
        });
        finding.meaning = meanings::RESOLVER_FIRST.fact().into();
        let listed = names
            .iter()
            .filter(|(name, _)| !name.is_empty())
            .take(CITED)
            .map(|(name, g)| facts::LOOKUPS_OF.is(Value::ms(g.ms)).with("name", Value::name(name)));
        let fact = facts::SLOW_LOOKUPS.is(Value::count(lookups.len()));
        let fact = fact.with("lookups", Value::count(all.slow.len())).with("least", Value::ms(SLOW_MS));
        let fact = fact.with("total", total).with("unanswered", unanswered).with("behind", behind);
        finding.evidence.push(waits.summed(fact.with("names", Value::list(listed))));
        finding.evidence.extend(waits.longest(CITED, asked));
        finding.remedies = vec![
            remedies::CACHING_RESOLVER.remedy(),
            remedies::CACHE_NAMES.remedy(),
            remedies::NAMES_IN_FULL.remedy(),
        ];
        finding.verify = vec![checks::GETENT.fact().into(), checks::SHORT_LOOK_UPS.fact().into()];
        Judgement::Found(Box::new(finding))
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType::C2;
    use fathom_recording::Scope;
    use fathom_recording::vocabulary::figure;
    use fathom_recording::vocabulary::label;

    use super::*;
    use crate::built::{Built, judged};
    use crate::facts::switch_on;

    fn look_ups(ms: f64, timeouts: f64) -> Built {
        let mut built = Built::jvm("17", "G1", 10.0);
        for i in 0..3 {
            built.span(
                kind::NET_DNS,
                &format!("db{i}.test"),
                f64::from(i) * 2.0,
                ms,
                &[(figure::TIMEOUTS, timeouts)],
                &[],
            );
        }
        built
    }

    #[test]
    fn late_answers_are_found_quick_ones_are_not_and_lost_ones_are_another_cause() {
        let Judgement::Found(finding) = judged(&DnsSlow, &look_ups(1_200.0, 0.0).sealed()) else { panic!() };
        let slow = finding.fact(&facts::SLOW_LOOKUPS);
        assert_eq!((slow.number("value"), slow.number("total")), (Some(3.0), Some(3_600.0)));
        assert!(matches!(judged(&DnsSlow, &look_ups(4.0, 0.0).sealed()), Judgement::RuledOut { .. }));
        assert!(matches!(judged(&DnsSlow, &look_ups(4_000.0, 2.0).sealed()), Judgement::RuledOut { .. }));
    }

    /// One thread asks, three want the same name and wait for the JDK's lock.
    #[test]
    fn threads_behind_a_slow_look_up_wait_for_the_resolver() {
        let mut built = Built::jvm("17", "G1", 10.0);
        for name in ["a", "b", "c", "d"] {
            built.on_thread(kind::SCHED_WATCHED, name, "", 0.0, 10_000.0);
        }
        let asks = [("java.net.Inet6AddressImpl.lookupAllHostAddr", C2), ("shop.Rates.order", C2)];
        let waits = [
            ("java.util.concurrent.locks.ReentrantLock.lock", C2),
            ("java.net.InetAddress$NameServiceAddresses.get", C2),
            ("shop.Rates.order", C2),
        ];
        for i in 0..8 {
            let at = f64::from(i);
            built.with_stack(
                (kind::NET_DNS, "rates.test"),
                "a",
                &asks,
                &[(label::PEER, "10.0.0.2:53")],
                (at, 600.0),
            );
            for name in ["b", "c", "d"] {
                let lock = (kind::LOCK_PARK, "java.util.concurrent.locks.ReentrantLock$NonfairSync");
                built.with_stack(lock, name, &waits, &[], (at, 600.0));
            }
        }
        let Judgement::Found(finding) = judged(&DnsSlow, &built.sealed()) else { panic!() };
        let slow = finding.fact(&facts::SLOW_LOOKUPS);
        let took = ["value", "total", "behind"].map(|name| slow.number(name).unwrap().round());
        assert_eq!(took, [8.0, 4_800.0, 14_400.0]);
        assert_eq!(finding.named(), "10.0.0.2:53");
        assert!((finding.cost_ms - 4_800.0).abs() < 1.0, "{}", finding.cost_ms);
    }

    /// A damaged file may claim that a thread lived for centuries.
    #[test]
    fn a_life_as_long_as_the_clock_can_count_is_measured() {
        let mut built = Built::jvm("17", "G1", 10.0);
        built.on_thread(kind::SCHED_WATCHED, "a", "", -4.5e9, 9e12);
        let asks = [("java.net.Inet6AddressImpl.lookupAllHostAddr", C2), ("shop.Rates.order", C2)];
        built.with_stack((kind::NET_DNS, "rates.test"), "a", &asks, &[], (-4.4e9, 8e12));
        assert!(matches!(judged(&DnsSlow, &built.sealed()), Judgement::Found(_)));
    }

    /// A recording of `fathom record` without a look-up, whose collector could not see something.
    fn watched(unseen: &[(&str, Option<Scope>)]) -> Judgement {
        watched_without(Built::jvm("17", "G1", 10.0), unseen)
    }

    fn watched_without(mut built: Built, unseen: &[(&str, Option<Scope>)]) -> Judgement {
        built.recording.processes[built.jvm.index()].pid = Some(7);
        let unseen = unseen.iter().map(|(what, scope)| fathom_recording::Unseen {
            what: (*what).into(),
            scope: scope.clone(),
            ..Default::default()
        });
        built.recording.sources.push(fathom_recording::Source {
            name: "network".into(),
            format: "network".into(),
            covers_ns: Some((0, 10_000_000_000)),
            unseen: unseen.collect(),
            ..Default::default()
        });
        judged(&DnsSlow, &built.sealed())
    }

    #[test]
    fn what_a_collector_saw_all_of_is_not_asked_for_again() {
        assert!(matches!(watched(&[]), Judgement::RuledOut { .. }));
        let others = [
            ("names of others", Some(Scope::of_process(8))),
            ("handshakes", Some(Scope::of_kinds(&[kind::NET_TLS]))),
            ("stacks", Some(Scope::nothing())),
        ];
        assert!(matches!(watched(&others), Judgement::RuledOut { .. }));
        assert!(matches!(watched(&[("names", None)]), Judgement::Inconclusive(_)));
        let own = [("names", Some(Scope::of_process(7)))];
        let Judgement::Inconclusive(spot) = watched(&own) else { panic!() };
        assert_eq!(spot.what.fact().name("unseen"), Some("names"));
        spot.remedy.states(&switch_on::WAITS_BY_OTHERS, &[]);
        // Some that were quick say nothing of those that were not seen.
        let some = watched_without(look_ups(4.0, 0.0), &own);
        assert!(matches!(some, Judgement::Inconclusive(_)));
        assert!(matches!(watched_without(look_ups(4.0, 0.0), &[]), Judgement::RuledOut { .. }));
    }
}
