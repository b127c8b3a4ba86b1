//! A peer that answers late while no thread waits for it: asynchronous calls.
//!
//! ```text
//! first bytes sent to the peer ──▶ first bytes of its answer arrive ──▶ they are read     what the collector of requests times
//!        └────── the peer, or the network to it ──────┘ └─ unread: nobody reads ─┘
//! ```
//!
//! Threads that wait for a peer are in the ledger of threads. Where calls are asynchronous nobody
//! waits, and what the connections show is all that there is. Threads may wait behind such calls,
//! for what their answers give back: a permit, a place in a queue, a future.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{kind, label, live, source};
use fathom_recording::{ProcessId, Recording, Span, ThreadId};
use rustc_hash::FxHashSet;

use super::{FEW, HELD_RULE, LONGER, points};
use crate::attribution::Step;
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, growth as facts, meanings, reasons, remedies};
use crate::growth::busy_stage::moved;
use crate::growth::connection::way_of_slow_peer;
use crate::growth::parts::{FRAMES, Part};
use crate::growth::{Each, Grown, Growth, LEADS, MOST, lost_ms, on_threads};
use crate::intervals::Intervals;
use crate::waits::Category;
use crate::{Case, Evidence, Fact, Finding, Layer, Sure, Window};

/// The id of the finding about a peer.
pub const PEER_RULE: &str = "peer-answers-late";

/// What of a tick must lie within the windows.
const INSIDE: f64 = 0.9;
/// What of a request's additional time the answers of one peer must make up to be its cause.
const EXPLAINS: f64 = 0.5;

/// Answers of a peer in some windows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Answers {
    pub(super) count: f64,
    /// From the first bytes sent to the first that arrived, on average, milliseconds.
    ms: f64,
    /// From then until they were read.
    unread_ms: f64,
}

impl Answers {
    /// From the first bytes sent until the answer is read, on average, milliseconds.
    pub(super) fn until_read_ms(&self) -> f64 {
        self.ms + self.unread_ms
    }
}

/// A peer in the slow windows and in the baseline.
struct Peer<'a> {
    address: &'a str,
    slow: Answers,
    base: Answers,
}

impl Peer<'_> {
    /// How much later an answer is read, milliseconds.
    fn later_ms(&self) -> f64 {
        self.slow.until_read_ms() - self.base.until_read_ms()
    }

    /// Whether most of that passes before the answer arrives.
    fn is_late(&self) -> bool {
        self.slow.ms - self.base.ms >= self.slow.unread_ms - self.base.unread_ms
    }

    /// How many times of the usual an answer takes until it is read.
    fn times(&self) -> f64 {
        self.slow.until_read_ms() / self.base.until_read_ms().max(f64::MIN_POSITIVE)
    }
}

/// The answers of each peer within some windows.
pub(super) fn answers<'a>(
    recording: &'a Recording,
    jvm: ProcessId,
    windows: &[Window],
) -> BTreeMap<&'a str, Answers> {
    let of = |word: live::Word| {
        recording.series.iter().filter(move |s| s.info.name == word.name && s.info.process == Some(jvm))
    };
    let within = Intervals::of_windows(windows);
    // At the edges of a window one tick has answers of both sides, and most of them are those of
    // the side on which they come faster: means are those over time, not over answers.
    let is_inside =
        |t: i64, dt: i64| within.length_within_ns(t, t.saturating_add(dt)) as f64 >= INSIDE * dt as f64;
    let mut ticks: BTreeMap<(&str, i64), f64> = BTreeMap::new();
    let mut all: BTreeMap<&str, Answers> = BTreeMap::new();
    // Time that is looked at, and the part of it in which answers came.
    let mut inside: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for series in of(live::PROCESS_PEER_ANSWERS) {
        for (t, dt, rate) in points(series).filter(|(t, dt, _)| is_inside(*t, *dt)) {
            let (peer, dt) = (series.info.instance.as_str(), dt as f64);
            all.entry(peer).or_default().count += rate * dt / 1e9;
            let inside = inside.entry(peer).or_default();
            inside.0 += dt;
            if rate > 0.0 {
                ticks.insert((peer, t), dt);
                inside.1 += dt;
            }
        }
    }
    let mut add = |word, put: fn(&mut Answers, f64)| {
        for series in of(word) {
            for (t, _, ms) in points(series) {
                let peer = series.info.instance.as_str();
                if let Some((dt, answers)) = ticks.get(&(peer, t)).zip(all.get_mut(peer)) {
                    put(answers, dt * ms / inside[peer].1);
                }
            }
        }
    };
    add(live::PROCESS_PEER_ANSWER_TIME, |answers, ms| answers.ms += ms);
    add(live::PROCESS_PEER_UNREAD_TIME, |answers, ms| answers.unread_ms += ms);
    for (peer, answers) in &mut all {
        answers.count *= within.length_ns() as f64 / inside[peer].0;
    }
    all
}

/// The peer whose answers come later by most in all, where any comes notably later.
fn latest<'a>(case: &'a Case<'_>, jvm: ProcessId) -> Option<Peer<'a>> {
    let base = answers(case.recording, jvm, &case.base);
    let slow = answers(case.recording, jvm, &case.slow).into_iter();
    let peers = slow.filter_map(|(address, slow)| Some(Peer { address, slow, base: *base.get(address)? }));
    peers
        .filter(|peer| peer.slow.count >= FEW && peer.base.count >= FEW && peer.times() >= LONGER)
        .max_by(|a, b| (a.later_ms() * a.slow.count).total_cmp(&(b.later_ms() * b.slow.count)))
}

impl Growth<'_> {
    /// That a peer answers late, or that its answers are read late, while threads spend no more on
    /// operations. `requests`: how much later each is answered, milliseconds, and how many were;
    /// `None` where none are counted.
    pub(super) fn late_peer(&self, case: &Case<'_>, requests: Option<(f64, f64)>) -> Option<Finding> {
        let lost_ms = case.loss.lost_ms;
        let peer = latest(case, self.jvm)?;
        let per = requests.map(|(_, count)| peer.slow.count / count);
        let (threads, usual) = self.worked().fold((0.0, 0.0), |sum, g| (sum.0 + g.slow, sum.1 + g.base));
        let share = match requests {
            // What one request waits for this peer longer, of what it takes longer.
            Some((longer_ms, count)) => peer.later_ms() * peer.slow.count / count / longer_ms,
            // As many at a time as ever: fewer by what each takes longer.
            None if self.per.each != Each::Request => {
                let lost = lost_ms / Case::length_ms(&case.slow).max(f64::MIN_POSITIVE);
                (1.0 - 1.0 / peer.times()) / lost.max(f64::MIN_POSITIVE)
            }
            None => return None,
        };
        let cost_ms = lost_ms * share.min(1.0);
        if share < EXPLAINS || cost_ms < LEADS * lost_ms {
            return None;
        }
        let ground = match requests.is_some() && share >= MOST && peer.times() >= 2.0 {
            true => Ground::Incomplete,
            false => Ground::Fits,
        };
        let why = reasons::PEER_TIMED.is(Value::ms(threads)).over(Value::ms(usual));
        let why = why.with("way", self.way_to(case, &peer));
        Some(self.of_peer(case, &peer, per, ground.because(case, cost_ms, why), cost_ms))
    }

    /// That a peer answers late while threads wait more for each other, none of which is seen to
    /// wait for it: they wait behind its answers. Findings about locks of which that holds are
    /// taken into it. `None` where it is not so, or as much is explained by what threads wait for
    /// or run.
    pub(crate) fn behind_late_peer(&self, case: &Case<'_>, findings: &mut Vec<Finding>) -> Option<Finding> {
        let peer = latest(case, self.jvm).filter(|_| self.per.each.is_counted())?;
        // Fewer threads that ask it now are why there are fewer answers.
        if moved(case, self.jvm).is_some() {
            return None;
        }
        let per = peer.slow.count / (self.per.by[0] + self.per.by[1]).max(f64::MIN_POSITIVE);
        let direct_ms = peer.later_ms() * per;
        // What waits for something to happen on any of its connections is an event loop, behind
        // which others wait for such calls. Where a peer is waited for, short waits are for it,
        // too.
        let networks = || self.worked().filter(|g| g.key.category == Category::Network);
        let of_peers: FxHashSet<&str> =
            networks().filter(|g| !g.key.target.is_empty()).map(|g| g.key.place).collect();
        let is_of_a_peer = |g: &&Grown<'_>| !g.key.target.is_empty() || of_peers.contains(g.key.place);
        let network = |of_a_peer: bool| -> f64 {
            networks().filter(|g| is_of_a_peer(g) == of_a_peer).map(Grown::by).sum()
        };
        let followed_ms: f64 = self.worked().map(|g| g.by() * over(&g.part, peer.address)).sum();
        let (loops_ms, seen_ms) = (network(false), network(true) + followed_ms);
        let others_ms =
            (self.resources() - loops_ms - self.of_peer_ms(case.recording, peer.address)).max(0.0);
        let behind_ms: f64 =
            loops_ms + self.worked().filter(|g| on_threads(g.key.category)).map(Grown::by).sum::<f64>();
        let share = direct_ms / (direct_ms + others_ms);
        // Threads that are seen to wait for the network do so for this peer, as far as anybody
        // knows.
        if share < EXPLAINS || behind_ms < EXPLAINS * direct_ms || seen_ms > EXPLAINS * direct_ms {
            return None;
        }
        let ground = if peer.times() >= 2.0 { Ground::Incomplete } else { Ground::Fits };
        let why = reasons::BEHIND_PEER.is(Value::ms(behind_ms)).with("way", self.way_to(case, &peer));
        let cost_ms = lost_ms(case) * share;
        let sure = ground.because(case, cost_ms, why);
        let mut finding = self.of_peer(case, &peer, Some(per), sure, cost_ms);
        let is_behind = |f: &Finding| f.process_id == self.jvm && f.rule.starts_with("lock-");
        for lock in findings.extract_if(.., |f| is_behind(f)) {
            let behind = facts::LOCK_BEHIND.fact().with("title", Value::from(&lock.title));
            finding.evidence.insert(1, Evidence::summed(source::LOCKS, behind));
            finding.also.push(lock.rule);
        }
        Some(finding)
    }

    /// What threads that are the peer themselves took longer: those of this JVM that send from its
    /// address. That is why it answers late, and no other cause.
    fn of_peer_ms(&self, recording: &Recording, address: &str) -> f64 {
        let sends = |span: &Span<'_>| span.label(label::OWN) == Some(address);
        let threads: FxHashSet<ThreadId> =
            recording.spans_of(kind::SYSCALL).filter(sends).filter_map(|span| span.thread()).collect();
        let of_peer = |g: &&Grown<'_>| {
            let own = !on_threads(g.key.category) && g.key.category != Category::Network;
            own && !g.part.threads.is_empty() && g.part.threads.is_subset(&threads)
        };
        self.worked().filter(of_peer).map(Grown::by).sum()
    }

    /// The way to a peer that answers late, where it is known to be short.
    fn way_to(&self, case: &Case<'_>, peer: &Peer<'_>) -> Option<Value> {
        way_of_slow_peer(case, self.jvm, peer.address, peer.slow.ms)
    }

    /// `per`: how many of its answers an operation needs.
    fn of_peer(
        &self,
        case: &Case<'_>,
        peer: &Peer<'_>,
        per: Option<f64>,
        sure: Sure,
        cost_ms: f64,
    ) -> Finding {
        let id = if peer.is_late() { PEER_RULE } else { HELD_RULE };
        let mut finding = case.finding_by(id, Layer::Network, self.jvm, sure, cost_ms);
        finding.title = title(peer, per.map(|per| (per, self.per.each.noun()))).into();
        finding.culprit = match peer.is_late() {
            true => culprits::PEER.is(Value::name(peer.address)),
            false => culprits::EVENT_LOOP.fact(),
        }
        .into();
        finding.meaning =
            if peer.is_late() { &meanings::PEER_IS_LATE } else { &meanings::READ_LATE }.fact().into();
        finding.evidence = evidence(peer, case);
        let remedy = match peer.is_late() {
            true => remedies::LOOK_AT_PEER_AND_NETWORK.is(Value::name(peer.address)),
            false => remedies::OFF_THE_EVENT_LOOP.fact(),
        };
        finding.remedies = vec![remedy.into()];
        let answers = checks::PEER_AS_BEFORE.is(Value::ms(peer.base.ms));
        finding.verify = vec![answers.with("peer", Value::name(peer.address)).into()];
        finding.windows.clone_from(&case.slow);
        finding
    }
}

/// What of a part's slow time was waited for at a connection to a peer whose thread is known.
fn over(part: &Part<'_>, address: &str) -> f64 {
    let slow = |ms: &[f64; FRAMES]| ms[0] + ms[1];
    let is_over = |step: &Step<'_>| step.key.category == Category::Network && step.key.target == address;
    let ways = part.ways.iter().filter(|(way, _)| way.iter().any(is_over));
    ways.map(|(_, ms)| slow(ms)).sum::<f64>() / slow(&part.ms).max(f64::MIN_POSITIVE)
}

/// `per`: how many of its answers an operation needs, and what an operation is.
fn title(peer: &Peer<'_>, per: Option<(f64, &str)>) -> Fact {
    let (slow, base) = (peer.slow, peer.base);
    let title = match peer.is_late() {
        true => facts::PEER_LATE.is(Value::ms(slow.ms)).over(Value::ms(base.ms)),
        false => facts::READ_LATE.is(Value::ms(slow.unread_ms)).over(Value::ms(base.unread_ms)),
    };
    let title = title.with("peer", Value::name(peer.address));
    let title = title.with("answers", per.map(|(per, _)| Value::counted(per)));
    title.with("noun", per.map(|(_, noun)| Value::name(noun)))
}

fn evidence(peer: &Peer<'_>, case: &Case<'_>) -> Vec<Evidence> {
    let rate = |answers: Answers, windows: &[Window]| {
        Value::per_second(answers.count / Case::length_ms(windows).max(f64::MIN_POSITIVE) * 1e3)
    };
    let (slow, base) = (peer.slow, peer.base);
    let arrive = facts::PEER_TIME.is(Value::ms(slow.ms)).over(Value::ms(base.ms));
    let rows = [
        arrive.with("peer", Value::name(peer.address)),
        facts::UNREAD.is(Value::ms(slow.unread_ms)).over(Value::ms(base.unread_ms)),
        facts::PEER_ANSWERS.is(rate(slow, &case.slow)).over(rate(base, &case.base)),
    ];
    rows.map(|row| Evidence::summed(source::REQUESTS, row)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;
    use crate::attribution::Key;
    use crate::built::{Built, whole_run};
    use crate::facts::titles;
    use crate::waits::Category;
    use fathom_recording::{Role, Sink, SourceId, SpanRow};

    /// A minute with 80 answers a second of a database, 40 in the middle third, and 80 of a cache.
    /// In that third the database answers after `answers_ms`, and its answers are read after
    /// `unread_ms`; else after 2 ms and 0.1 ms.
    fn calls(answers_ms: f64, unread_ms: f64, requests: bool) -> Built {
        let mut built = Built::jvm("25", "G1", 60.0);
        let jvm = Some(built.jvm);
        let thirds = |usual: f64, slow: f64| [(0.0, 20.0, usual), (20.0, 40.0, slow), (40.0, 60.0, usual)];
        let mut peer = |address, rates: [f64; 2], ms: [f64; 2], unread: [f64; 2]| {
            built.gauge(live::PROCESS_PEER_ANSWERS, address, jvm, &thirds(rates[0], rates[1]));
            built.gauge(live::PROCESS_PEER_ANSWER_TIME, address, jvm, &thirds(ms[0], ms[1]));
            built.gauge(live::PROCESS_PEER_UNREAD_TIME, address, jvm, &thirds(unread[0], unread[1]));
        };
        peer("10.0.0.9:5432", [80.0, 40.0], [2.0, answers_ms], [0.1, unread_ms]);
        peer("10.0.0.8:6379", [80.0, 40.0], [1.0, 1.0], [0.1, 0.1]);
        if requests {
            built.gauge(live::PROCESS_REQUESTS, "", jvm, &thirds(80.0, 40.0));
            built.gauge(live::PROCESS_REQUEST_TIME, "", jvm, &thirds(5.0, 3.0 + answers_ms + unread_ms));
        }
        built
    }

    fn window(from_s: i64, to_s: i64) -> Vec<Window> {
        vec![Window { from_ns: from_s * 1_000_000_000, to_ns: to_s * 1_000_000_000 }]
    }

    fn found(built: Built) -> Option<Finding> {
        let (jvm, recording) = (built.jvm, built.sealed());
        let whole = whole_run(&recording);
        let loss = crate::Loss {
            lost_ms: 10_000.0,
            slow_rate: Some(40.0),
            base_rate: Some(80.0),
            ..crate::Loss::default()
        };
        let case = Case { slow: window(20, 40), base: window(0, 20), whole_run: false, loss, ..whole };
        let grown = crate::growth::tests::grew(&[(Category::Network, "", 0.1, 0.1)]);
        Growth { jvm, ..grown }.held_back(&case)
    }

    #[test]
    fn a_peer_that_answers_late_without_a_thread_that_waits_is_named() {
        let finding = found(calls(77.0, 0.1, true)).unwrap();
        assert_eq!(finding.rule, PEER_RULE);
        finding.culprit.states(&culprits::PEER, &[("value", "10.0.0.9:5432")]);
        assert_eq!(finding.confidence, Confidence::Likely);
        finding
            .title
            .states(&facts::PEER_LATE, &[("value", "77 ms"), ("baseline", "2.00 ms"), ("answers", "1")]);
        assert!(finding.share.is_some_and(|share| share > 0.99), "{:?}", finding.share);
    }

    fn lock_title() -> Fact {
        titles::LOCK.is(Value::ms(9_900.0)).with("threads", Value::count(8))
    }

    /// What is found where threads wait for a permit `permit_ms` longer, for the network, of the
    /// peer `target`, `network_ms`, and run `running_ms`, and a rule reports the permit.
    fn behind(
        permit_ms: f64,
        network: (&'static str, f64),
        running: (f64, bool),
    ) -> (Option<Finding>, Vec<Finding>) {
        behind_over("10.0.0.1:80", ("Shop.select", 0.0), permit_ms, network, running)
    }

    /// The same where the thread that holds the permit is at the other end of a connection to
    /// `peer`, and threads wait `short` for the network, in a place, of a peer that is not
    /// recorded.
    fn behind_over(
        peer: &'static str,
        short: (&'static str, f64),
        permit_ms: f64,
        (target, network_ms): (&'static str, f64),
        (running_ms, by_peer): (f64, bool),
    ) -> (Option<Finding>, Vec<Finding>) {
        let mut built = calls(42.0, 0.1, false);
        let (runs, source) =
            (built.recording.thread(built.jvm, Some(9), "inventory", Role::App), SourceId(0));
        let own = if by_peer { "10.0.0.9:5432" } else { "10.0.0.1:80" };
        built.recording.span(&SpanRow {
            thread: Some(runs),
            labels: &[(label::OWN, own)],
            ..SpanRow::new(kind::SYSCALL, "read", (0, 1_000), built.jvm, source)
        });
        let (jvm, recording) = (built.jvm, built.sealed());
        let whole = whole_run(&recording);
        let loss = crate::Loss { lost_ms: 10_000.0, ..crate::Loss::default() };
        let case = Case { slow: window(20, 40), base: window(0, 20), whole_run: false, loss, ..whole };
        let mut grown = crate::growth::tests::grew(&[
            (Category::Lock, "Shop.permit", 1.0, 1.0 + permit_ms),
            (Category::Network, "Shop.read", 1.0, 1.0 + network_ms),
            (Category::C2, "Shop.run", 1.0, 1.0 + running_ms),
            (Category::Network, short.0, 1.0, 1.0 + short.1),
        ]);
        let waits = Key { category: Category::Network, place: "Shop.call", target: peer };
        let steps = [waits, grown.grown[0].key].map(|key| Step { key, other: None });
        grown.grown[0].part.ways.insert(steps.into(), [1.0; FRAMES]);
        grown.grown[0].part.ms = [1.0; FRAMES];
        grown.grown[1].key.target = target;
        grown.grown[2].part.threads.insert(runs);
        // 800 operations in the slow time, and as many answers.
        let per = crate::growth::each::Per { each: Each::Operation, by: [400.0, 400.0, 1600.0] };
        let sure = (Confidence::Likely, Vec::new());
        let lock = case.finding_by("lock-contended-juc", Layer::Application, jvm, sure, 9_900.0);
        let mut findings = vec![Finding { title: lock_title().into(), ..lock }];
        let found = Growth { jvm, per, ..grown }.behind_late_peer(&case, &mut findings);
        (found, findings)
    }

    #[test]
    fn threads_wait_behind_calls_that_a_peer_answers_late() {
        let (found, left) = behind(200.0, ("", 40.0), (0.0, false));
        let finding = found.unwrap();
        assert_eq!((finding.rule, finding.confidence), (PEER_RULE, Confidence::Likely));
        assert!(left.is_empty() && finding.also == ["lock-contended-juc"]);
        assert_eq!(finding.fact(&facts::LOCK_BEHIND).named("title"), Some(&Value::from(lock_title())));
    }

    #[test]
    fn waits_are_not_behind_a_peer_where_threads_wait_for_it_or_run_longer() {
        assert!(
            behind(200.0, ("10.0.0.9:5432", 40.0), (0.0, false)).0.is_none(),
            "the ledger of threads has it"
        );
        assert!(behind(200.0, ("", 0.0), (60.0, false)).0.is_none(), "what the threads run takes more");
        let serves = behind(200.0, ("", 0.0), (60.0, true)).0;
        assert!(serves.is_some_and(|finding| finding.rule == PEER_RULE), "what runs more is the peer itself");
        assert!(behind(1.0, ("", 0.0), (0.0, false)).0.is_none(), "nobody waits more");
        let over = behind_over("10.0.0.9:5432", ("Shop.select", 0.0), 200.0, ("", 40.0), (0.0, false)).0;
        assert!(over.is_none(), "threads wait for it, and its own thread is known");
        let short =
            |place| behind_over("10.0.0.1:80", (place, 14.0), 200.0, ("10.0.0.9:5432", 10.0), (0.0, false)).0;
        assert!(short("Shop.read").is_none(), "what is short is waited for in the same place");
        assert!(short("Shop.select").is_some(), "an event loop");
    }

    #[test]
    fn answers_that_stand_unread_are_not_the_peers_fault() {
        let finding = found(calls(2.0, 75.0, true)).unwrap();
        assert_eq!(finding.rule, HELD_RULE);
        finding.title.states(&facts::READ_LATE, &[("value", "75 ms"), ("baseline", "0.10 ms")]);
    }

    #[test]
    fn a_client_without_requests_of_its_own_is_judged_by_its_peers_alone() {
        let finding = found(calls(6.0, 0.1, false)).unwrap();
        assert_eq!((finding.rule, finding.confidence), (PEER_RULE, Confidence::ConsistentWith));
        assert!(found(calls(2.2, 0.1, false)).is_none(), "as soon as ever");
    }
}
