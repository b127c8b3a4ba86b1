//! The collections of a run: pauses assembled from their lines, pauses within pauses, concurrent
//! cycles and phases.
//!
//! ```text
//!   GC(49) Pause Young …            ──▶ opened            `gc,start`; absent with -Xlog:gc
//!   GC(50) Pause Full …             ──▶ opened within it  (Serial and CMS up to JDK 16 or so)
//!   GC(50) Pause Full … 74.291ms    ──▶ closed, kept by the outer one
//!   GC(49) Pause Young … 74.336ms   ──▶ closed; waits for its CPU time and the safepoint's line
//!   GC(49) User=…, Safepoint "…" …  ──▶ written, the nested one after it
//! ```
//!
//! A pause whose closing record never comes is not written, because its length is unknown. It is
//! counted and named in the self-check.

mod write;

use fathom_recording::vocabulary::{fact, figure, kind, label};
use fathom_recording::{Role, SpanId};

use super::decorators::Level;
use super::heap;
use super::out::{Entry, Out, text};
use super::pause::{At, Pause, PhaseNames};
use super::record::{Group, Record};
use super::scan;
use write::{push_change, push_regions, write_concurrent, write_truncated};

/// How many concurrent cycles may be open at a time: generational collectors have two, an old log
/// whose ends are lost has more.
const CYCLES: usize = 16;
/// How deep pauses may be nested. HotSpot has two levels.
const DEPTH: usize = 4;

/// What Shenandoah prints of a cycle that was cancelled (`ShenandoahHeap::try_cancel_gc`'s
/// callers), tag `gc`.
const CANCELLED: &[u8] = b"Cancelled";

/// A line about a collection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GcLine<'a> {
    /// The collection.
    pub(crate) id: u64,
    /// The text of the line.
    pub(crate) body: &'a [u8],
    /// Its time and line number.
    pub(crate) at: At,
    /// The line's level; `None` when it prints none.
    pub(crate) level: Option<Level>,
    /// Its tags.
    pub(crate) tags: &'a [u8],
}

/// A cycle that has begun: ZGC prints sizes but no duration at its end.
#[derive(Clone, Debug)]
struct Cycle {
    id: u64,
    words: Vec<u8>,
    start: At,
    load: Option<f64>,
}

/// The collections of a run that are not written yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collections {
    open: Vec<Pause>,
    closed: Option<Pause>,
    /// Details of a pause whose start was not seen.
    loose: Option<Pause>,
    /// A written pause, kept to reuse its memory.
    written: Option<Pause>,
    cycles: Vec<Cycle>,
    phases: PhaseNames,
    region_bytes: Option<f64>,
    details_seen: bool,
}

impl Collections {
    /// G1's region size is known.
    pub(crate) fn set_region_bytes(&mut self, bytes: f64) {
        self.region_bytes.get_or_insert(bytes);
    }

    /// Takes a line about a collection. False: it is of no interest.
    pub(crate) fn line(&mut self, line: &GcLine<'_>, out: &mut Out<'_>) -> bool {
        out.evidence.ids.saw(line.id, line.at.line);
        let (prefix, body) = generation(line.body);
        // Plain `gc` lines with a duration are records under any name: "Coalescing and filling
        // (Old)".
        let timed_record =
            matches!(line.tags, b"gc" | b"gc,start") && body.ends_with(b"ms") && !is_stall(body);
        if is_record(body) || timed_record {
            let mut record = Record::parse(body);
            // With generational ZGC the generation is part of the name: "Y: Pause Mark End".
            record.name = line.body.get(..prefix + record.name.len()).unwrap_or(record.name);
            return if record.is_pause() {
                self.pause_line(line, &record, out)
            } else {
                self.concurrent_line(line, &record, out)
            };
        }
        if is_stall(body) {
            return stall(body, line.at, out);
        }
        if let Some(rest) = body.strip_prefix(b"Load: ") {
            return self.load(line.id, rest);
        }
        self.detail_line(line, body)
    }

    fn pause_line(&mut self, line: &GcLine<'_>, record: &Record<'_>, out: &mut Out<'_>) -> bool {
        // Steps of a pause, at debug and trace level: "Pause Roots (ZWorker#0)", "Pause Scavenge
        // Before Remark".
        let finer = line.level.is_some_and(|level| level < Level::Info);
        if record.names_a_thread() || (finer && record.duration_ns.is_some()) {
            return true;
        }
        match record.duration_ns {
            Some(duration_ns) => self.close(line, record, duration_ns, out),
            None => self.start(line, record, out),
        }
        true
    }

    fn start(&mut self, line: &GcLine<'_>, record: &Record<'_>, out: &mut Out<'_>) {
        self.write_closed(out);
        self.loose = None;
        self.details_seen = true;
        while self.open.last().is_some_and(|outer| !may_hold(outer, line.id, record)) {
            self.abandon(out);
        }
        if self.open.len() >= DEPTH {
            self.abandon(out);
        }
        let mut pause = Pause::in_place_of(self.written.take(), line.id, record.words, line.at);
        pause.start = Some(line.at);
        if pause.is_full() {
            let boxed = |bytes: &[u8]| text(bytes).into();
            pause.announced = Some((boxed(record.name), record.group(Group::Cause).map(boxed)));
        }
        self.open.push(pause);
    }

    fn close(&mut self, line: &GcLine<'_>, record: &Record<'_>, duration_ns: i64, out: &mut Out<'_>) {
        let mut pause = match self.open.iter().rposition(|p| closes(p, line, record, duration_ns)) {
            Some(at) => {
                while self.open.len() > at + 1 {
                    self.abandon(out);
                }
                self.open.pop().unwrap_or_default()
            }
            // A step of the pause that has such a name: "Pause Scavenge Before Remark" at trace
            // level.
            None if self.open.last().is_some_and(|p| p.id == line.id) => return,
            None => match self.loose.take_if(|p| p.id == line.id) {
                Some(mut loose) => {
                    loose.words = record.words.to_vec();
                    loose
                }
                None => Pause::in_place_of(self.written.take(), line.id, record.words, line.at),
            },
        };
        pause.close(record, line.at, duration_ns);
        if let Some(outer) = self.open.last_mut() {
            if outer.nested.len() < DEPTH {
                outer.nested.push(pause);
            }
            return;
        }
        if self.closed.as_ref().is_some_and(|inner| was_within(inner, &pause, duration_ns)) {
            pause.nested.extend(self.closed.take());
        }
        self.write_closed(out);
        self.closed = Some(pause);
    }

    /// The innermost open pause is dropped: what follows cannot be part of it.
    fn abandon(&mut self, out: &mut Out<'_>) {
        let Some(pause) = self.open.pop() else { return };
        let at = pause.start.unwrap_or_default();
        out.evidence.unclosed.add(|| format!("GC({}) line {}", pause.id, at.line));
        write_truncated(&pause, at, out);
        for inner in pause.nested {
            self.write(inner, None, out);
        }
    }

    /// A line without a GC id that reports a failure of a collection, as ParNew's workers print
    /// "Promotion failed". It belongs to the collection in progress.
    pub(crate) fn failure(&mut self, body: &[u8], at: At) -> bool {
        let Some(word) = heap::failure_of(body) else { return false };
        if let Some(pause) = self.open.last_mut() {
            pause.line(at);
            pause.fail(word);
        }
        true
    }

    fn detail_line(&mut self, line: &GcLine<'_>, body: &[u8]) -> bool {
        let timed = if body.ends_with(b"ms") || body.ends_with(b"ms ") { heap::timed(body) } else { None };
        // Debug lines are steps of steps; or the length of something other than a phase.
        let outermost = line.level.is_none_or(|level| level >= Level::Info)
            && (line.tags.is_empty() || line.tags.starts_with(b"gc,phases"));
        let starts = line.tags == b"gc,phases,start" || (line.tags.is_empty() && body.starts_with(b"Phase "));
        let (pause, phases) = self.pause_of(line);
        pause.line(line.at);
        let known = match timed {
            Some(timed) if outermost => {
                heap::phase(pause, &timed, phases);
                true
            }
            None if starts && outermost => {
                pause.open_phase(heap::hash(body.trim_ascii_end()));
                true
            }
            None => heap::detail(pause, body.trim_ascii_start()),
            Some(_) => false,
        };
        self.details_seen |= known;
        known
    }

    /// The pause that a detail belongs to.
    fn pause_of(&mut self, line: &GcLine<'_>) -> (&mut Pause, &mut PhaseNames) {
        let phases = &mut self.phases;
        if let Some(at) = self.open.iter().rposition(|p| p.id == line.id) {
            return (&mut self.open[at], phases);
        }
        if self.closed.as_ref().is_some_and(|p| p.id == line.id)
            && let Some(closed) = self.closed.as_mut()
        {
            return (closed, phases);
        }
        if self.loose.as_ref().is_none_or(|p| p.id != line.id) {
            self.loose = Some(Pause::in_place_of(self.written.take(), line.id, b"", line.at));
        }
        (self.loose.get_or_insert_default(), phases)
    }

    /// ZGC prints the machine's load at the end of each cycle: `Load: 7.50 (375%) / 6.10 (305%) /
    /// 5.05 (252%)`.
    fn load(&mut self, id: u64, rest: &[u8]) -> bool {
        let Some((load, _)) = scan::billionths(rest) else { return false };
        for cycle in self.cycles.iter_mut().filter(|c| c.id == id) {
            cycle.load = Some(load as f64 / 1e9);
        }
        true
    }

    fn concurrent_line(&mut self, line: &GcLine<'_>, record: &Record<'_>, out: &mut Out<'_>) -> bool {
        if record.names_a_thread() || line.level.is_some_and(|level| level < Level::Info) {
            return true;
        }
        // Shenandoah's and ZGC's have one id with the pauses of their cycle.
        if let Some(pause) = self.closed.as_mut().filter(|pause| pause.id == line.id) {
            pause.is_over();
        }
        if record.duration_ns.is_none() && record.change.is_none() {
            self.begin_cycle(line, record, out);
            return true;
        }
        let begun = self.cycles.iter().rposition(|c| c.id == line.id && c.words == record.words);
        let begun = begun.map(|at| self.cycles.remove(at));
        let t1_ns = line.at.ns;
        let t0_ns = match (record.duration_ns, &begun) {
            (Some(duration_ns), _) => t1_ns.saturating_sub(duration_ns),
            (None, Some(cycle)) => cycle.start.ns.min(t1_ns),
            (None, None) => t1_ns,
        };
        let mut figures: Vec<(&str, f64)> = Vec::with_capacity(4);
        if let Some(change) = &record.change {
            push_change(&mut figures, change);
        }
        if let Some(load) = begun.and_then(|c| c.load) {
            figures.push((figure::HOST_LOAD, load));
        }
        write_concurrent(line, record, (t0_ns, t1_ns), &figures, out);
        true
    }

    fn begin_cycle(&mut self, line: &GcLine<'_>, record: &Record<'_>, out: &mut Out<'_>) {
        if record.words.ends_with(b" Abort") || record.words == CANCELLED {
            // `Concurrent Mark Abort`: an event, the cycle's own end follows. A cycle that
            // Shenandoah cancels before its first phase has nothing else.
            write_concurrent(line, record, (line.at.ns, line.at.ns), &[], out);
            return;
        }
        if self.cycles.len() >= CYCLES {
            self.cycles.remove(0);
        }
        self.cycles.push(Cycle { id: line.id, words: record.words.to_vec(), start: line.at, load: None });
    }

    /// A safepoint's line came: the pause in it is complete. `busy_ns`: how long the safepoint went
    /// on after it.
    pub(crate) fn safepoint(&mut self, at: At, busy_ns: i64, out: &mut Out<'_>) {
        if let Some(pause) = &mut self.closed {
            pause.line_after(at, busy_ns);
            self.write_closed(out);
        }
    }

    /// The log ends.
    pub(crate) fn finish(&mut self, out: &mut Out<'_>) -> bool {
        let mut truncated = false;
        self.write_closed(out);
        for pause in std::mem::take(&mut self.open) {
            let at = pause.start.unwrap_or_default();
            out.evidence.open_at_end.add(|| format!("GC({}) line {}", pause.id, at.line));
            out.evidence.ids.done(pause.id);
            truncated = true;
            write_truncated(&pause, at, out);
            for inner in pause.nested {
                self.write(inner, None, out);
            }
        }
        for cycle in std::mem::take(&mut self.cycles) {
            out.evidence.ids.done(cycle.id);
        }
        if let Some(loose) = self.loose.take() {
            self.account_loose(&loose, out);
        }
        if !self.details_seen && out.evidence.pauses > 0 {
            out.fact(fact::GC_BRIEF, "1");
        }
        truncated
    }

    /// Details at the very end whose record is missing.
    fn account_loose(&self, loose: &Pause, out: &mut Out<'_>) {
        if out.evidence.ids.largest_done().is_none_or(|largest| loose.id > largest) {
            out.evidence.open_at_end.add(|| format!("GC({})", loose.id));
            out.evidence.ids.done(loose.id);
        }
    }

    fn write_closed(&mut self, out: &mut Out<'_>) {
        if let Some(pause) = self.closed.take() {
            self.write(pause, None, out);
        }
    }

    /// Writes a pause and those within it.
    fn write(&mut self, mut pause: Pause, parent: Option<(SpanId, i64)>, out: &mut Out<'_>) {
        let Some(closing) = &pause.closing else { return };
        let mut figures = self.figures(&pause);
        figures.extend(pause.phases.iter().map(|(id, ns)| (self.phases.key(*id), *ns as f64 / 1e6)));
        let mut labels: Vec<(&str, &str)> = Vec::new();
        labels.extend(closing.cause.iter().map(|cause| (label::CAUSE, cause.as_ref())));
        labels.extend(pause.failures.iter().map(|word| (label::FAILURE, *word)));
        labels.extend(closing.qualifiers.iter().map(|q| (label::QUALIFIER, q.as_ref())));
        // Without timestamps the records follow one another: a nested one is moved into its outer
        // one.
        let t1_ns = match parent {
            Some((_, outer_t0_ns)) if closing.at.ns <= outer_t0_ns => {
                outer_t0_ns.saturating_add(closing.duration_ns)
            }
            _ => closing.at.ns,
        };
        let t0_ns = t1_ns.saturating_sub(closing.duration_ns);
        if parent.is_none() {
            out.evidence.pause(t0_ns, t1_ns, closing.duration_ns, closing.at.line);
        }
        out.evidence.ids.done(pause.id);
        let span = out.span(&Entry {
            kind: if parent.is_some() { kind::GC_NESTED } else { kind::GC_PAUSE },
            name: &closing.name,
            t0_ns,
            t1_ns,
            line: closing.at.line,
            key: i64::try_from(pause.id).unwrap_or(-1),
            parent: parent.map(|(outer, _)| outer),
            thread: None,
            figures: &figures,
            labels: &labels,
        });
        for inner in std::mem::take(&mut pause.nested) {
            self.write(inner, parent.or(Some((span, t0_ns))), out);
        }
        self.written = Some(pause);
    }

    /// A pause's figures by the recording's keys.
    fn figures<'p>(&'p self, pause: &'p Pause) -> Vec<(&'p str, f64)> {
        let mut figures: Vec<(&str, f64)> = Vec::with_capacity(pause.figures.len() + pause.phases.len() + 14);
        figures.extend(pause.figures.iter().map(|(key, value)| (*key, *value)));
        if let Some(region_bytes) = self.region_bytes {
            push_regions(&mut figures, pause, region_bytes);
        }
        if pause.is_full() {
            figures.push((figure::FULL, 1.0));
        }
        if let Some(ns) = pause.phases_sum_ns() {
            figures.push((figure::PHASES_SUM_MS, ns as f64 / 1e6));
        }
        if let Some((ns, line)) = pause.idle_gap() {
            figures.push((figure::IDLE_GAP_MS, ns as f64 / 1e6));
            figures.push((figure::IDLE_GAP_LINE, line as f64));
        }
        figures
    }
}

/// Whether the body begins a record of a pause, a cycle or a concurrent phase.
fn is_record(body: &[u8]) -> bool {
    match body.first() {
        Some(b'P') => body.starts_with(b"Pause "),
        Some(b'C') => {
            body.starts_with(b"Concurrent ")
                || body.starts_with(b"Coalescing and filling")
                || body == CANCELLED
        }
        Some(b'G') => body.starts_with(b"Garbage Collection"),
        Some(b'M') => body.starts_with(b"Major Collection") || body.starts_with(b"Minor Collection"),
        Some(b'Y') => {
            body.starts_with(b"Young Generation") && !body.starts_with(b"Young Generation Statistics")
        }
        Some(b'O') => body.starts_with(b"Old Generation") && !body.starts_with(b"Old Generation Statistics"),
        _ => false,
    }
}

/// Generational ZGC prints the generation: `y: ` in a minor collection, `Y: ` and `O: ` in a major
/// one. Returns the length of the prefix and what follows it.
fn generation(body: &[u8]) -> (usize, &[u8]) {
    match body {
        [b'y' | b'Y' | b'O', b':', b' ', rest @ ..] => (3, rest),
        _ => (0, body),
    }
}

/// Whether a pause that begins may be part of an open one. Serial and CMS up to JDK 16 do a full
/// collection within the young one that failed; CMS may scavenge before it remarks.
fn may_hold(outer: &Pause, id: u64, inner: &Record<'_>) -> bool {
    let full_in_young = outer.words == b"Pause Young" && inner.words == b"Pause Full";
    let scavenge_in_remark = outer.words == b"Pause Remark" && inner.words == b"Pause Young";
    id > outer.id && (full_in_young || scavenge_in_remark)
}

/// Whether a record closes an open pause: the same words; or, under a changed title, an interval of
/// time that begins at its start.
fn closes(open: &Pause, line: &GcLine<'_>, record: &Record<'_>, duration_ns: i64) -> bool {
    if open.id != line.id {
        return false;
    }
    let begins_ns = line.at.ns.saturating_sub(duration_ns).saturating_sub(1_000_000);
    open.words == record.words || open.start.is_some_and(|start| begins_ns <= start.ns && duration_ns > 0)
}

/// Whether `inner`, which was closed just before, was part of `outer`, in logs without starts: the
/// young one has the id before the full one's, and lasted longer.
fn was_within(inner: &Pause, outer: &Pause, outer_ns: i64) -> bool {
    let Some(closing) = &inner.closing else { return false };
    let full_in_young = inner.words == b"Pause Full"
        && outer.words == b"Pause Young"
        && outer.id.checked_add(1) == Some(inner.id);
    let scavenge_in_remark = outer.words == b"Pause Remark"
        && closing.cause.as_deref() == Some("CMS Final Remark")
        && outer.id < inner.id;
    inner.start.is_none() && closing.duration_ns <= outer_ns && (full_in_young || scavenge_in_remark)
}

/// Whether a thread was stalled: ZGC's "Allocation Stall" and "Relocation Stall".
pub(crate) fn is_stall(body: &[u8]) -> bool {
    body.starts_with(b"Relocation Stall (") || body.starts_with(b"Allocation Stall (")
}

/// `Allocation Stall (main) 12.345ms`: one thread waits, the others run on.
pub(crate) fn stall(body: &[u8], at: At, out: &mut Out<'_>) -> bool {
    let Some(open) = memchr::memchr(b'(', body) else { return false };
    let Some(timed) = heap::timed(body) else { return false };
    let Some(thread) = timed.name.get(open + 1..).and_then(|t| t.strip_suffix(b")")) else { return false };
    let name = text(body.get(..open).unwrap_or_default().trim_ascii_end());
    let thread = text(thread);
    let role = if thread.starts_with('Z') && thread.contains('#') { Role::Gc } else { Role::App };
    let thread = out.thread(&thread, role);
    out.span(&Entry {
        t0_ns: at.ns.saturating_sub(timed.ns),
        thread: Some(thread),
        ..Entry::event(kind::GC_STALL, &name, at.ns, at.line)
    });
    true
}
