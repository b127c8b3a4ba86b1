//! Calls as the flight recorder times and traces them (JEP 520): its files read as they come.
//!
//! Counts are of the timing alone, which is cheap. Who called comes of the trace, an event for each
//! call, which is taken where a first look says that there are not too many of them.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use fathom_capture::Unavailable;
use fathom_capture::methods::{
    Asked, CallsOf, Count, Filter, MethodFlight, MethodReport, News, NotCounted, Report, SlowCall, Standing,
    Times, Way,
};
use fathom_recording::vocabulary::{figure, kind};
use fathom_recording::{Recording, Span, StackFrame, StackId};

/// The first slice: it says how often the methods are called, before any call is traced.
const FIRST: Duration = Duration::from_secs(1);
/// A slice: files are looked at so often.
const SLICE: Duration = Duration::from_secs(4);
/// Timing takes some tenths of a microsecond: so many times as many calls are borne as are traced.
const TIMED_TO_TRACED: u64 = 50;
/// Slow calls that are kept.
const MOST_SLOW: usize = 4096;
/// Callers and threads of a method.
const MOST_ROWS: usize = 1 << 14;
/// Frames of a slow call.
const MOST_FRAMES: usize = 48;

/// A JVM whose recorder counts.
pub struct Flying {
    flight: MethodFlight,
    most_per_s: u64,
    slow: Option<Duration>,
    traces: bool,
    /// Whether timing itself was too much.
    ends: bool,
    next: Instant,
    begun: Instant,
    begun_ns: i64,
    methods: BTreeMap<String, Tally>,
    slow_calls: Vec<SlowCall>,
    slow_left_out: u64,
    news: Vec<News>,
}

/// What is known of a method.
#[derive(Clone, Debug, Default)]
struct Tally {
    calls: u64,
    /// By the last event, which counts since the method is timed.
    counted: u64,
    sum_ns: f64,
    max_ns: u64,
    traced: u64,
    callers: HashMap<String, Times>,
    threads: HashMap<String, u64>,
}

impl Flying {
    /// Begins to time.
    pub fn start(pid: u32, asked: &Asked) -> Result<Self, Unavailable> {
        let filter = Filter::of(&asked.patterns).map_err(|why| Unavailable {
            scope: None,
            what: "counting by the flight recorder".into(),
            why,
            remedy: "use --way breakpoint or --way agent".into(),
        })?;
        let flight = MethodFlight::start(pid, filter, FIRST, None)?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Ok(Self {
            flight,
            most_per_s: asked.most_hits_per_s,
            slow: asked.slow,
            traces: false,
            ends: false,
            next: Instant::now() + FIRST,
            begun: Instant::now(),
            begun_ns: i64::try_from(now.as_nanos()).unwrap_or(0),
            methods: BTreeMap::new(),
            slow_calls: Vec::new(),
            slow_left_out: 0,
            news: Vec::new(),
        })
    }

    fn sum(&self) -> u64 {
        self.methods.values().map(|tally| tally.calls).sum()
    }

    /// Takes what a slice has. Decides whether the next one traces.
    fn take(&mut self, file: Result<Option<File>, String>, lasted: Duration) {
        let before = self.sum();
        match file {
            Ok(Some(file)) => {
                if let Err(why) = self.read(&file) {
                    self.news.push(News::Failed { why });
                }
            }
            Ok(None) => {}
            Err(why) => self.news.push(News::Failed { why }),
        }
        let rate = ((self.sum() - before) as f64 / lasted.as_secs_f64().max(0.1)) as u64;
        let hottest = self.methods.iter().max_by_key(|(_, tally)| tally.calls).map(|(name, _)| name.clone());
        let Some(method) = hottest else { return };
        if rate > self.most_per_s.saturating_mul(TIMED_TO_TRACED) {
            self.ends = true;
            self.news.push(News::TooHot { method, hits_per_s: rate });
        } else if rate > self.most_per_s {
            self.traces = false;
            self.news.push(News::Untraced { calls_per_s: rate });
        } else {
            self.traces = true;
        }
    }

    fn read(&mut self, file: &File) -> Result<(), String> {
        // The file has no name; this is one.
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let mut recording = Recording::new();
        let read = fathom_ingest::read_inputs(&[path], &fathom_ingest::Options::default(), &mut recording);
        read.map_err(|error| format!("what the flight recorder wrote cannot be read: {error}"))?;
        recording.seal();
        let (calls, mean, max) = (figure::CALLS, figure::MEAN_NS, figure::MAX_NS);
        // Events with one timestamp are of methods with one name and different parameters: they
        // belong together. The last timestamp has all.
        let mut latest: BTreeMap<String, (i64, u64, f64, u64)> = BTreeMap::new();
        for span in recording.spans_of(kind::METHOD_TIMING) {
            let of = |key| span.figure(key).unwrap_or(0.0).max(0.0);
            let row = latest.entry(span.name().to_owned()).or_default();
            if row.0 != span.t0_ns() {
                *row = (span.t0_ns(), 0, 0.0, 0);
            }
            row.1 += of(calls) as u64;
            row.2 += of(mean) * of(calls);
            row.3 = row.3.max(of(max) as u64);
        }
        for (name, (_, calls, sum_ns, max)) in latest {
            let tally = self.methods.entry(colons(&name)).or_default();
            if tally.counted == 0 && tally.calls == 0 {
                self.news.push(News::Woven { method: colons(&name) });
            }
            // Less than before: the recorder has begun anew.
            let more = calls.checked_sub(tally.counted).unwrap_or(calls);
            (tally.counted, tally.calls) = (calls, tally.calls + more);
            tally.sum_ns = sum_ns;
            tally.max_ns = tally.max_ns.max(max);
        }
        for span in recording.spans_of(kind::METHOD_CALL) {
            self.traced(&recording, &span);
        }
        Ok(())
    }

    fn traced(&mut self, recording: &Recording, span: &Span<'_>) {
        let name = colons(span.name());
        let ns = span.duration_ns().max(0).cast_unsigned();
        let stack = frames(recording, span.stack());
        let thread = span.thread().map(|thread| &recording.threads[thread.index()]);
        let thread = thread.map_or(String::new(), |thread| {
            let name = recording.strings.get(thread.name);
            thread.tid.map_or_else(|| name.to_owned(), |tid| format!("{name} ({tid})"))
        });
        let tally = self.methods.entry(name.clone()).or_default();
        tally.traced += 1;
        // The stack of the event begins with who called.
        let caller =
            stack.first().cloned().unwrap_or_else(|| "[called by the JVM or native code]".to_owned());
        if tally.callers.len() < MOST_ROWS || tally.callers.contains_key(&caller) {
            add(tally.callers.entry(caller).or_default(), ns);
        }
        if tally.threads.len() < MOST_ROWS || tally.threads.contains_key(&thread) {
            *tally.threads.entry(thread.clone()).or_default() += 1;
        }
        if self.slow.is_some_and(|slow| u128::from(ns) >= slow.as_nanos()) {
            if self.slow_calls.len() >= MOST_SLOW {
                self.slow_left_out += 1;
                return;
            }
            self.slow_calls.push(SlowCall {
                method: name,
                thread,
                java_thread: 0,
                begun_ns: span.t0_ns(),
                took_ns: ns,
                stack,
                waited: Vec::new(),
            });
        }
    }

    /// Takes what came until now, and has the recorder go on.
    fn look(&mut self) {
        if self.ends || !self.flight.is_alive() {
            return;
        }
        let (lasted, traced) = (self.flight.lasts(), self.traced_from());
        let file = self.flight.renew(SLICE, traced);
        self.take(file, lasted);
        self.next = Instant::now() + if self.traces == traced.is_some() { SLICE } else { Duration::ZERO };
    }

    fn counted(&self, is_too_much: bool) -> Report {
        let elapsed = self.begun.elapsed();
        let methods = self.methods.iter().map(|(name, tally)| tally.report(name, elapsed, is_too_much));
        Report {
            way: Way::Flight,
            begun_ns: self.begun_ns,
            methods: methods.collect(),
            elapsed,
            unread: 0,
            left_out: 0,
            refused: Vec::new(),
            slow: self.slow_calls.clone(),
            slow_left_out: self.slow_left_out,
            last: Vec::new(),
        }
    }

    fn traced_from(&self) -> Option<Duration> {
        self.traces.then_some(Duration::ZERO)
    }
}

impl Count for Flying {
    fn poll(&mut self) {
        if Instant::now() >= self.next {
            self.look();
        }
    }

    fn calls(&mut self) -> u64 {
        self.sum()
    }

    fn news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    fn is_over(&self) -> bool {
        self.ends
    }

    fn report(&mut self) -> Report {
        // Two looks in a row would cost the JVM more than they show.
        if self.flight.lasts() >= FIRST {
            self.look();
        }
        self.counted(self.ends)
    }

    fn stop(mut self: Box<Self>) -> Report {
        let lasted = self.flight.lasts();
        let was_too_much = self.ends;
        let file = self.flight.stop();
        self.take(file, lasted);
        let mut report = self.counted(was_too_much);
        report.last = self.news();
        // Nothing is traced behind the end.
        report.last.retain(|news| !matches!(news, News::Untraced { .. } | News::TooHot { .. }));
        report
    }

    fn similar(&mut self) -> Vec<String> {
        Vec::new()
    }
}

impl Tally {
    fn report(&self, name: &str, elapsed: Duration, is_hot: bool) -> MethodReport {
        let rest = self.calls.saturating_sub(self.traced);
        let not_seen = (rest > 0).then(|| ("not traced".to_owned(), rest));
        let rows = |rows: Vec<(String, u64)>| {
            let rows =
                rows.into_iter().chain(not_seen.clone().map(|(who, calls)| (format!("[{who}]"), calls)));
            let mut rows: Vec<CallsOf> = rows.map(|(who, calls)| CallsOf { who, calls }).collect();
            rows.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.who.cmp(&b.who)));
            rows
        };
        let mut times: Vec<(String, Times)> =
            self.callers.iter().map(|(who, times)| (who.clone(), times.clone())).collect();
        times.sort_by(|a, b| b.1.count.cmp(&a.1.count).then_with(|| a.0.cmp(&b.0)));
        let all = Times {
            count: self.counted,
            sum_ns: self.sum_ns as u64,
            max_ns: self.max_ns,
            buckets: Vec::new(),
        };
        MethodReport {
            name: name.to_owned(),
            native: false,
            standing: if is_hot { Standing::TooHot } else { Standing::Woven },
            calls: self.calls.max(self.traced),
            replaced: 0,
            not_kept: 0,
            elsewhere: 0,
            watched: elapsed,
            unwatched: Duration::ZERO,
            compilations: 0,
            callers: rows(self.callers.iter().map(|(who, times)| (who.clone(), times.count)).collect()),
            threads: rows(self.threads.iter().map(|(who, calls)| (who.clone(), *calls)).collect()),
            times,
            all_times: Some(all).filter(|all| all.count > 0),
            thrown: 0,
            callers_seen: None,
            untimed: Vec::new(),
            not_counted: NotCounted::default(),
        }
    }
}

/// Adds a duration, in the buckets of the other ways: four for each power of two.
fn add(times: &mut Times, ns: u64) {
    times.count += 1;
    times.sum_ns += ns;
    times.max_ns = times.max_ns.max(ns);
    let from = if ns < 4 { ns } else { ns & !((1 << (ns.ilog2() - 2)) - 1) };
    match times.buckets.binary_search_by_key(&from, |bucket| bucket.0) {
        Ok(at) => times.buckets[at].1 += 1,
        Err(at) => times.buckets.insert(at, (from, 1)),
    }
}

/// "Hot::step" of "Hot.step".
fn colons(name: &str) -> String {
    name.rsplit_once('.').map_or_else(|| name.to_owned(), |(class, method)| format!("{class}::{method}"))
}

/// Frames of a stack with their lines, innermost first.
fn frames(recording: &Recording, stack: Option<StackId>) -> Vec<String> {
    let shown = |frame: StackFrame<'_>| match frame.line() {
        ..=0 => frame.name().to_owned(),
        line => format!("{}:{line}", frame.name()),
    };
    recording.frames_of(stack).take(MOST_FRAMES).map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_fall_into_the_bucket_that_begins_at_or_below_them() {
        let mut times = Times::default();
        for ns in [0, 3, 4, 5, 1000, 1023, 1024] {
            add(&mut times, ns);
        }
        assert_eq!(times.buckets, [(0, 1), (3, 1), (4, 1), (5, 1), (896, 2), (1024, 1)]);
        assert_eq!((times.count, times.max_ns, times.sum_ns), (7, 1024, 3059));
        assert_eq!(colons("a.B$C.<init>"), "a.B$C::<init>");
    }
}
