//! `tls-not-resumed`: connections negotiate TLS from scratch, with certificates and keys, instead
//! of resuming a session.

use fathom_recording::ProcessId;
use fathom_recording::vocabulary::kind;

use super::cpu_case::{Cpu, Seen, unseen};
use super::gc_case::summed;
use crate::confidence::Ground;
use crate::facts::{Value, checks, cpu as facts, culprits, meanings, reasons, remedies, ruled_out, titles};
use crate::{Case, Fact, Finding, Judgement, Layer, Rule};

/// What is done only where a session is made: certificates are sent, checked and proven, keys
/// exchanged under them. Classes of the JDK's own TLS (sun.security.ssl) since 11 and 8u261; behind
/// them those of the older 8.
const IN_FULL: [&str; 14] = [
    "sun.security.ssl.CertificateMessage$",
    "sun.security.ssl.CertificateVerify$",
    "sun.security.ssl.ECDHServerKeyExchange$",
    "sun.security.ssl.DHServerKeyExchange$",
    "sun.security.ssl.RSAServerKeyExchange$",
    "sun.security.ssl.ECDHClientKeyExchange$",
    "sun.security.ssl.DHClientKeyExchange$",
    "sun.security.ssl.RSAClientKeyExchange$",
    "sun.security.ssl.HandshakeMessage$CertificateVerify",
    "sun.security.ssl.HandshakeMessage$ECDH_ServerKeyExchange",
    "sun.security.ssl.HandshakeMessage$DH_ServerKeyExchange",
    "sun.security.ssl.ClientHandshaker.serverCertificate",
    "sun.security.ssl.ServerHandshaker.clientCertificate",
    "sun.security.ssl.ServerHandshaker.clientKeyExchange",
];
/// The rest of a handshake, which those that resume make, too.
const ANY: [&str; 5] = [
    "sun.security.ssl.HandshakeContext.",
    "sun.security.ssl.SSLHandshake.",
    "sun.security.ssl.Handshaker.",
    "sun.security.ssl.SSLEngineImpl$DelegatedTask.",
    "sun.security.ssl.TransportContext.kickstart",
];
/// From this share of the time in handshakes on, what only full ones do shows that they are: in
/// those that resume it is nothing.
const SHOWS_FULL: f64 = 0.1;
const FULL: &str = "in full";
const OTHER: &str = "other";
/// Callers that are named.
const NAMED: usize = 3;

/// The rule.
pub struct TlsNotResumed;

impl Rule for TlsNotResumed {
    fn id(&self) -> &'static str {
        "tls-not-resumed"
    }

    fn layer(&self) -> Layer {
        Layer::Network
    }

    fn about(&self) -> &'static str {
        "A TLS session that was negotiated once can be resumed by the next connection: no certificate is sent or checked, nothing \
         is signed, and a handshake takes a fraction of the CPU time (a client and a server on one machine: 2050 calls a second \
         with it, 120 without, measured on JDK 17). Where sessions are not \
         resumed any more (an update of one side, a cache that is too small, a load balancer that spreads connections) a \
         service that opens many connections spends its CPUs on signatures.\n\n\
         **Evidence.** CPU samples below the parts of a handshake that only one in full has: certificates, their proof, the \
         exchange of keys under them (`sun.security.ssl`, JDK 8 to 25). Where they are a tenth of the time in handshakes or \
         more, all of that is attributed, which is an upper bound: one that resumes takes some of it, too.\n\n\
         **Confounders.** Encrypting what is sent afterwards has no frame of a handshake. Connections of ever new \
         peers cannot resume anything: the number of connections a second shows how many there are, and whether they \
         are kept open long enough is the question before this one. TLS of other libraries (OpenSSL through Netty, \
         Conscrypt, Bouncy Castle) is not looked into.\n\n\
         **Ruled out** by the CPU time found in full handshakes."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::CpuSamples]
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        let Some(cpu) = Cpu::of(case, jvm, |frames| part(frames)) else { return unseen(self, case) };
        let cost_ms = match cpu.worth(ruled_out::FULL_HANDSHAKES.fact(), in_full(&cpu)) {
            Ok(cost_ms) => cost_ms,
            Err(ruled_out) => return ruled_out,
        };
        Judgement::Found(Box::new(found(self, &cpu, jvm, cost_ms)))
    }
}

/// What of handshakes is that of full ones.
fn in_full(cpu: &Cpu<'_, '_>) -> impl Fn(&str) -> bool + Copy + use<> {
    let are_full = cpu.ms(|part| part == FULL) >= SHOWS_FULL * cpu.ms(|_| true);
    move |part| are_full || part == FULL
}

/// Which part of a handshake a stack is in.
fn part(frames: &[Seen<'_>]) -> Option<&'static str> {
    let any = |prefixes: &[&str]| {
        frames.iter().any(|frame| prefixes.iter().any(|prefix| frame.name.starts_with(prefix)))
    };
    match () {
        () if any(&IN_FULL) => Some(FULL),
        () if any(&ANY) => Some(OTHER),
        () => None,
    }
}

fn found(rule: &dyn Rule, cpu: &Cpu<'_, '_>, jvm: ProcessId, cost_ms: f64) -> Finding {
    let case = cpu.case;
    let full = in_full(cpu);
    let sure = Ground::Traces.sure(case, cost_ms, &reasons::FULL_HANDSHAKES);
    let mut finding = case.finding(rule, jvm, sure, cost_ms);
    let title = titles::TLS_NOT_RESUMED.is(Value::share(cpu.share(full)));
    finding.title = cpu.with_waits(title, cost_ms, full).into();
    let callers = cpu.callers(full);
    let caller = callers.first().map(|(caller, _)| Value::name(*caller));
    finding.culprit = Fact { value: caller, ..culprits::HANDSHAKES.fact() }.into();
    finding.meaning = meanings::FULL_HANDSHAKES.fact().into();
    finding.windows = case.slow.clone();
    let source = cpu.source();
    let ms = |of: &str| Value::ms(cpu.ms(|part| part == of));
    finding.evidence.push(summed(source.clone(), facts::HANDSHAKES.is(ms(FULL)).with("rest", ms(OTHER))));
    let ran_ms = cpu.ms(full);
    if cost_ms > 2.0 * ran_ms {
        let ran = facts::WITH_WAITS.is(Value::ms(ran_ms)).with("elapsed", Value::ms(cost_ms));
        finding.evidence.push(summed(source.clone(), ran));
    }
    let connects = case.rates(kind::NET_CONNECT, jvm);
    if connects.slow_per_s > 0.0 {
        let made = facts::CONNECTIONS.is(Value::per_second(connects.slow_per_s));
        finding.evidence.push(summed(source.clone(), made.over(connects.base_per_s.map(Value::per_second))));
    }
    if !callers.is_empty() {
        let one = |(name, share): &(&str, f64)| {
            facts::BELOW_METHOD.is(Value::share(*share)).with("method", Value::name(*name))
        };
        let callers = Value::list(callers.iter().take(NAMED).map(one));
        finding.evidence.push(summed(source, facts::BELOW.fact().with("callers", callers)));
    }
    finding.remedies = vec![
        remedies::KEEP_TLS_CONNECTIONS.remedy(),
        remedies::RESUME_SESSIONS.remedy(),
        remedies::ELLIPTIC_CURVES.remedy(),
    ];
    finding.verify = vec![
        checks::OPENSSL_RECONNECT.fact().into(),
        checks::COUNT_HANDSHAKES.fact().into(),
        checks::DEBUG_HANDSHAKES.fact().into(),
        checks::NO_CERTIFICATE_FRAMES.fact().into(),
    ];
    finding
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType::{C2, Inlined};

    use super::*;
    use crate::built::{Built, judged};

    const LOOP: &str = "shop.Client.call";

    /// Ten seconds of a thread, of which so many percent are below a method of the JDK's TLS.
    fn run(percent: u32, method: &str) -> Built {
        let mut built = Built::jvm("17", "G1", 10.0);
        for i in 0..100 {
            let mut frames = vec![(LOOP, C2)];
            if i < percent {
                let below = [
                    ("sun.security.rsa.RSACore.crypt", C2),
                    (method, Inlined),
                    ("sun.security.ssl.HandshakeContext.dispatch", C2),
                ];
                frames.splice(0..0, below);
            }
            built.on_cpu("worker", &frames, f64::from(i) / 10.0, 100.0);
        }
        built
    }

    #[test]
    fn handshakes_in_full_are_found_with_who_makes_them() {
        let built = run(70, "sun.security.ssl.CertificateVerify$T13CertificateVerifyMessage.<init>");
        let Judgement::Found(finding) = judged(&TlsNotResumed, &built.sealed()) else { panic!() };
        finding.title.states(&titles::TLS_NOT_RESUMED, &[("value", "70%"), ("elapsed", "")]);
        assert_eq!(finding.named(), LOOP);
        let facts: Vec<_> = finding.evidence.iter().map(|e| &e.fact).collect();
        let [handshakes, below] = facts[..] else { panic!("{facts:?}") };
        assert_eq!(
            (handshakes.metric.id, handshakes.number("value")),
            ("tls-handshakes-in-full", Some(7000.0))
        );
        assert_eq!(handshakes.number("rest"), Some(0.0));
        let [caller] = below.detail("callers").unwrap().parts() else { panic!("{below:?}") };
        assert_eq!(
            (caller.number("value"), caller.detail("method").unwrap().as_name()),
            (Some(1.0), Some(LOOP))
        );
        assert!((finding.cost_ms - 7000.0).abs() < 1.0, "{}", finding.cost_ms);
    }

    #[test]
    fn the_rest_of_handshakes_counts_where_a_tenth_of_them_shows_that_they_are_in_full() {
        let with = |full: u32| {
            let mut built = run(60, "sun.security.ssl.ClientHello$T12ClientHelloConsumer.consume");
            let below = [("sun.security.ssl.CertificateMessage$T12CertificateConsumer.consume", C2)];
            (0..full).for_each(|i| built.on_cpu("worker", &below, f64::from(i) / 10.0, 100.0));
            judged(&TlsNotResumed, &built.sealed())
        };
        let Judgement::Found(finding) = with(10) else { panic!("a seventh of it is what only full ones do") };
        assert!((finding.cost_ms - 7000.0).abs() < 1.0, "{}", finding.cost_ms);
        assert!(matches!(with(3), Judgement::RuledOut { .. }));
    }

    #[test]
    fn handshakes_that_resume_and_encryption_afterwards_rule_it_out() {
        for method in ["sun.security.ssl.Finished$T13FinishedConsumer.consume", "javax.crypto.Cipher.update"]
        {
            let judged = judged(&TlsNotResumed, &run(70, method).sealed());
            assert!(matches!(judged, Judgement::RuledOut { .. }), "{method}: {judged:?}");
        }
    }

    #[test]
    fn without_samples_it_is_inconclusive() {
        let judged = judged(&TlsNotResumed, &Built::jvm("17", "G1", 10.0).sealed());
        assert!(matches!(judged, Judgement::Inconclusive(_)), "{judged:?}");
    }
}
