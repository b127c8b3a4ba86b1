//! The finding of what grew most: its words, its values and how sure it is.

use fathom_recording::StackId;

use super::callers::{Callers, mostly_in};
use super::lead::Lead;
use super::parts::Part;
use super::{Each, Grown, Growth, MOST, PACE, PACE_RULE, RULE, SHOWN, mechanism, on_threads, sending, words};
use crate::attribution::Key;
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, growth as facts, reasons, remedies};
use crate::intervals::Intervals;
use crate::waits::Category;
use crate::{Case, Evidence, Fact, Finding, Window};

/// What a part must have grown by, of what the first one did, to be shown.
const NOISE: f64 = 0.02;
/// Functions that make a connection, of the kernel and the JDK.
const CONNECTS: [&str; 5] = [
    "inet_stream_connect",
    "NioSocketImpl.connect",
    "SocketChannelImpl.connect",
    "SocketChannelImpl.blockingConnect",
    "PlainSocketImpl.socketConnect",
];

/// Beginnings of methods' names that say no more of a wait than its category does.
const PLAIN: [&str; 8] = ["read", "receive", "poll", "select", "park", "sleep", "wait", "acquire"];

/// Whether the method of the JDK that a thread waits in says what it waits for.
fn says_what(method: &str) -> bool {
    let name = method.rsplit('.').next().unwrap_or(method);
    !method.starts_with("java.util.concurrent.locks.") && !PLAIN.iter().any(|plain| name.starts_with(plain))
}

impl<'a> Growth<'a> {
    pub(super) fn finding(
        &self,
        case: &Case<'_>,
        lead: &Lead<'_, '_>,
        grown: &[&Grown<'_>],
        share: f64,
        cost_ms: f64,
        by_change: bool,
    ) -> Finding {
        let (per, threads, jvm) = (&self.per, self.threads, self.jvm);
        let Grown { key, part, .. } = lead.part;
        // Without a measured loss, that threads do something else is no loss yet. Code that runs as
        // much as it always does, while fewer operations are done, may do other work.
        let as_ever = key.category.is_running() && !lead.part.runs_more;
        // Threads that always sleep between operations, and now sleep for longer: that may be all
        // that is asked of them.
        let paced = key.category == Category::Sleep && lead.part.base >= PACE * lead.part.slow;
        let rule = if paced { PACE_RULE } else { RULE };
        // Of windows that somebody chose, without a series, it is not known that anything was lost
        // in them.
        let is_lost = case.loss.lost_ms > 0.0;
        // That threads wait for others, and who ended that is not known, is no cause yet.
        let ends_in_a_wait = lead.behind.is_empty() && on_threads(key.category);
        let unclear = as_ever || paced || ends_in_a_wait;
        let likely = share >= MOST && lead.part.holds && !by_change && !unclear && is_lost;
        let way = lead.part.way();
        let sender = sending::sender(case, part).filter(|_| key.category == Category::Network);
        // Who waits for room to send waits for a selector of its own.
        let several = lead.behind_it(case, way.as_ref()).filter(|(most, _)| *most > 1 && sender.is_none());
        let behind = several.map(|(most, first)| {
            let behind = facts::BEHIND.is(Value::count(most)).with("threads", Value::count(threads));
            behind.with("place", Value::named(first.place))
        });
        let worked = |g: &&&Grown<'_>| g.key.category != Category::Idle;
        let is_behind = |g: &&&Grown<'_>| lead.behind.iter().any(|b| b.cause == g.cause);
        let evidence = grown
            .iter()
            .filter(|g| g.by() > NOISE * lead.part.by() && (worked(g) || is_behind(g)))
            .take(SHOWN)
            .map(|g| g.evidence(case.jvm_name(jvm), per.each));
        let mut evidence: Vec<Evidence> = evidence.collect();
        if !lead.behind.is_empty() {
            let throughout = facts::THROUGHOUT.is(Value::share(lead.throughout.min(1.0)));
            let fact = throughout.with("doing", Value::from(words::does(key)));
            evidence.push(Evidence::summed("ledger of threads", fact));
        }
        if let Some(way) = &way {
            let fact = words::way(way, case.jvm_name(jvm));
            let at_ns = part.longest.map(|(_, _, from, _)| from);
            evidence.push(Evidence::summed("wakeups of threads", fact).at(at_ns));
        }
        // Each new connection takes a round trip and whatever the peer does to accept it, and waits
        // on it follow from that.
        let connects =
            self.calls.iter().find(|c| c.more_a_second && c.connects() && key.category == Category::Network);
        evidence.extend(connects.map(|calls| {
            Evidence::summed("connections and system calls, counted", words::connections(calls))
        }));
        let ground = if likely { Ground::Incomplete } else { Ground::Fits };
        let why = reasons::GREW.is(Value::share(share.min(1.0)));
        let why = why.with("whose", Value::name(self.whose()));
        let sure = ground.because(case, cost_ms, why);
        let mut finding = case.finding_by(rule, words::layer(key.category), jvm, sure, cost_ms);
        let callers = Callers::of(case.recording, self.grown.iter().map(|g| &g.part), per);
        let way_from_own = callers.way_from_own(&[part], per, key.place, case.jvm_name(jvm));
        let (own, through) =
            way_from_own.split_last().map_or((None, &[][..]), |(own, way)| (Some(*own), way));
        let begins = || callers.where_it_begins(&[part], per, key.place, case.jvm_name(jvm));
        let caller = callers.new_one(&[part], per, key.place).or(own).or_else(begins);
        if !through.is_empty() {
            let through: Vec<&str> = through.iter().rev().copied().collect();
            let fact = facts::THROUGH.fact().with("methods", Value::name(through.join(" → ")));
            evidence.push(Evidence::summed("stacks", fact));
        }
        let mut also: Vec<Fact> = connects.map(words::connections).into_iter().chain(behind).collect();
        let growth = match sender {
            Some(sender) => {
                let amounts = (lead.part.slow, lead.part.base);
                words::amount(&facts::WAITS_TO_SEND, amounts, per.each).with("sender", Value::name(sender))
            }
            None => {
                // Where threads are counted, those that wait for a CPU to run the same count as
                // well.
                let credit = if per.each.is_counted() { 0.0 } else { lead.part.credit.max(0.0) };
                let amounts = (lead.part.slow + credit, lead.part.base);
                words::grown(&lead.part.cause, way.as_ref(), case.jvm_name(jvm), amounts, per.each)
            }
        };
        if ends_in_a_wait {
            finding.why_confidence.push(reasons::WAKERS_UNSEEN.fact().into());
        }
        if !is_lost {
            finding.why_confidence.push(reasons::COST_OF_WINDOWS.fact().into());
        }
        finding.culprit = match (sender, key.target) {
            (Some(sender), "") => culprits::READER.is(Value::name(sender)),
            _ => words::culprit(key),
        }
        .into();
        let others_wait = way.is_some() || !lead.behind.is_empty();
        finding.meaning = words::meaning(key.category, others_wait && sender.is_none()).fact().into();
        finding.evidence = evidence;
        let connecting = connecting(case, key, part);
        finding.remedies = connects.map(|_| remedies::KEEP_CONNECTIONS.remedy()).into_iter().collect();
        match sender {
            Some(_) => finding.remedies.push(remedies::TAKE_IN_FASTER.remedy()),
            None if connecting => finding.remedies = vec![remedies::CONNECT_ONCE.remedy()],
            None => finding.remedies.push(words::remedy(key)),
        }
        let extras = self.extras(case, lead, connecting);
        also.extend(extras.into_iter().filter_map(|extra| extra.add_to(&mut finding)));
        let share_of = |name: &str, share: f64| {
            facts::SHARE_OF.is(Value::share(share)).with("method", Value::name(name))
        };
        let several: Vec<Fact> = match lead.part.several.is_empty() {
            true if key.category.is_running() => {
                let mut called = mostly_in(case.recording, part, key.place).into_iter();
                let first = called.next().map(|(name, share)| share_of(name, share));
                let within = called.map(|(name, share)| {
                    facts::SHARE_WITHIN.is(Value::share(share)).with("method", Value::name(name))
                });
                first.into_iter().chain(within).collect()
            }
            // What a thread waits in says more than that it reads, parks or sleeps.
            true if way.is_none() && !key.place.is_empty() => mostly_in(case.recording, part, key.place)
                .first()
                .filter(|(name, _)| says_what(name))
                .map(|(name, share)| share_of(name, *share))
                .into_iter()
                .collect(),
            _ => lead.part.several.iter().map(|(name, share)| share_of(name, *share)).collect(),
        };
        let several = (!several.is_empty()).then(|| Value::list(several));
        let title = facts::LARGEST.fact().with("growth", Value::from(growth)).with("methods", several);
        let title = title.with("caller", caller.map(Value::name));
        finding.title = title.with("also", (!also.is_empty()).then(|| Value::list(also))).into();
        finding.verify = vec![
            words::as_usual(&checks::PART_AS_USUAL, lead.part.base, per.each)
                .with("what", Value::from(words::does(key)))
                .into(),
            checks::SAME_PARTS.fact().into(),
        ];
        finding.windows = marked(case, part);
        // What a thread that runs waits for now and then is another matter.
        finding.chain = part
            .longest
            .filter(|_| !key.category.is_running())
            .map(|(_, thread, from_ns, to_ns)| case.chains().of_thread(thread, Window { from_ns, to_ns }));
        if key.category.is_running() {
            mechanism::add(case, per, [part].into_iter(), &mut finding);
        }
        finding
    }
}

impl Grown<'_> {
    /// The row that it is in the evidence of a finding. `own`: the name of the JVM whose threads
    /// are not called another's.
    pub(super) fn evidence(&self, own: &str, each: Each) -> Evidence {
        let of_threads = words::amount(&facts::PART, (self.slow, self.base), each);
        let fact = of_threads.with("each", each.is_counted().then(|| Value::name(each.one())));
        let fact = fact.with("doing", Value::from(words::done_by(&self.cause, own)));
        let fact = fact.with("threads", Value::count(self.part.threads.len()));
        Evidence::summed("ledger of threads", fact).at(self.part.longest.map(|(_, _, from, _)| from))
    }
}

/// Whether most of a wait for the network is one for a connection to be made.
fn connecting(case: &Case<'_>, key: &Key<'_>, part: &Part<'_>) -> bool {
    let is_connect = |name: &str| CONNECTS.iter().any(|function| name.ends_with(function));
    let connects = |stack: StackId| case.recording.frames_of(stack).any(|frame| is_connect(frame.name()));
    let (mut all, mut connecting) = (0.0, 0.0);
    for (stack, ms) in &part.by_stack {
        all += ms[0] + ms[1];
        connecting += if connects(*stack) { ms[0] + ms[1] } else { 0.0 };
    }
    key.category == Category::Network && connecting > 0.5 * all
}

/// The slow windows in which any thread was in it; all of them for running time.
fn marked(case: &Case<'_>, part: &Part<'_>) -> Vec<Window> {
    match part.intervals.is_empty() {
        true => case.slow.clone(),
        false => {
            let intervals = Intervals::of(part.intervals.iter().copied());
            case.slow.iter().filter(|w| intervals.touches(w.from_ns, w.to_ns)).copied().collect()
        }
    }
}
