//! `dns-slow`: names are resolved, and it takes long.

use fathom_recording::vocabulary::{kind, label};
use fathom_recording::{ProcessId, Span};

use super::dns_case::{self, NOBODY_ASKED, asked, timed_out};
use super::gc_case::remedy;
use super::wait_case::{Waits, unseen};
use crate::facts::{Value, waits as facts};
use crate::{Case, Confidence, Judgement, Layer, Rule, quantity};

/// A look-up that takes as long is slow, milliseconds: a resolver near by answers within some, one far away within
/// a hundred.
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
         **Evidence.** Look-ups as they were seen: `getaddrinfo` from call to return, or the questions to port 53 and \
         their answers in an strace. From 100 ms on a look-up is slow.\n\n\
         **Look-alikes.** An answer that never came is `dns-timeout`. A connection that is slow after its name was \
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
        let lost = dns_case::Questions::of(case, jvm).any_lost();
        let long = |span: &Span<'_>| {
            span.duration_ns() as f64 / 1e6 >= SLOW_MS
                && !timed_out(span)
                && !(lost && dns_case::is_unanswered(span))
        };
        let Some(waits) = Waits::of(case, jvm, kind::NET_DNS, long) else { return Judgement::NotApplicable };
        if waits.slow.is_empty() || !case.matters(waits.cost_ms()) {
            if all.slow.is_empty() {
                return all.ruled_out(NOBODY_ASKED);
            }
            return all.ruled_out(format!(
                "the longest of {} took {}",
                quantity::plural(all.slow.len(), "look-up", "look-ups"),
                quantity::millis(all.longest_ms())
            ));
        }
        let sure = match case.share(waits.cost_ms()) {
            Some(share) if share >= 0.5 => {
                (Confidence::Proven, "the look-ups were timed and explain half of the loss or more")
            }
            Some(_) => {
                (Confidence::Likely, "the look-ups were timed; they explain less than half of the loss")
            }
            None => (
                Confidence::Likely,
                "the look-ups were timed; no series shows what they cost the application",
            ),
        };
        let names = waits.by(|span| span.name().to_owned());
        let mut finding = waits.finding(self, sure);
        let unanswered = waits.slow.iter().filter(|wait| dns_case::is_unanswered(&wait.span)).count();
        finding.title = format!(
            "{} took {}, the longest {}{}",
            quantity::plural(waits.slow.len(), "name look-up", "name look-ups"),
            quantity::millis(waits.total_ms()),
            quantity::millis(waits.longest_ms()),
            dns_case::of_which(unanswered, waits.slow.len())
        );
        finding.culprit =
            waits.by(|span| span.label(label::PEER).unwrap_or_default().to_owned())[0].0.clone();
        if finding.culprit.is_empty() {
            finding.culprit = "the resolver".into();
        }
        finding.meaning =
            "Before it can connect, a thread waits until the resolver has answered; a time-out of the \
                           request counts this time too."
                .into();
        let listed = names
            .iter()
            .take(CITED)
            .map(|(name, g)| facts::LOOKUPS_OF.is(Value::ms(g.ms)).with("name", Value::name(name)));
        let fact = facts::SLOW_LOOKUPS.is(Value::count(waits.slow.len()));
        let fact = fact.with("lookups", Value::count(all.slow.len())).with("least", Value::ms(SLOW_MS));
        finding.evidence.push(waits.summed(fact.with("names", Value::list(listed))));
        finding.evidence.extend(waits.longest(CITED, asked));
        finding.remedies = vec![
            remedy(
                "a caching resolver on this host (systemd-resolved, dnsmasq, nscd)",
                "Linux",
                "answers may be older by their time to live",
            ),
            remedy(
                "-Dsun.net.inetaddr.ttl=60 or networkaddress.cache.ttl in java.security",
                "any JDK; 30 s without a security manager",
                "changes of address are noticed later",
            ),
            remedy(
                "names with a trailing dot, or options ndots:1, where search domains are tried first",
                "resolv.conf",
                "short names no longer resolve",
            ),
        ];
        finding.verify = vec![
            "time getent ahosts NAME on the host: as long as the look-ups here".into(),
            "fathom trace dns -p PID shows look-ups below 100 ms after the change".into(),
        ];
        Judgement::Found(Box::new(finding))
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::vocabulary::figure;

    use super::*;
    use crate::built::{Built, judged};

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
        assert!(finding.title.starts_with("3 name look-ups took 3.60 s"), "{}", finding.title);
        assert!(matches!(judged(&DnsSlow, &look_ups(4.0, 0.0).sealed()), Judgement::RuledOut { .. }));
        assert!(matches!(judged(&DnsSlow, &look_ups(4_000.0, 2.0).sealed()), Judgement::RuledOut { .. }));
    }

    /// A recording of `fathom record` without a look-up, whose collector could not see something.
    fn watched(unseen: &[&str]) -> Judgement {
        let mut built = Built::jvm("17", "G1", 10.0);
        built.recording.processes[built.jvm.index()].pid = Some(7);
        let unseen = unseen.iter().map(|what| fathom_recording::Unseen {
            what: (*what).into(),
            why: String::new(),
            remedy: String::new(),
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
        let beside =
            ["TLS handshakes", "stacks of 1561 connections and look-ups", "names that process 8 resolves"];
        assert!(matches!(watched(&beside), Judgement::RuledOut { .. }));
        let Judgement::CannotTell(spot) = watched(&["names that process 7 resolves"]) else { panic!() };
        assert!(spot.what.contains("names that process 7 resolves"), "{}", spot.what);
        assert!(!spot.remedy.contains("fathom record"), "{}", spot.remedy);
    }
}
