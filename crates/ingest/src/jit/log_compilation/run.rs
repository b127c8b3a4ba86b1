//! One run of a JVM, element by element.
//!
//! ```text
//! <hotspot_log>      head: which JVM                                                    header.rs
//! <tty>              main stream, live: queued, installed, invalidated, traps, cache    here
//! </tty>
//! <compilation_log>  one a compiler thread, at exit: its tasks                          task.rs
//!   <fragment>       the task that was cut off by the exit
//! </hotspot_log>
//! ```
//!
//! A compiler thread's own temporary file is the inside of a `<compilation_log>`.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{fact, figure, kind, label};
use fathom_recording::{Check, Role, SpanRow};

use super::book::{self, Book, Key};
use super::elements;
use super::header::Header;
use super::markup::{Element, class_name};
use super::out::Out;
use super::task::Tasks;
use crate::Tally;
use crate::jit::print_compilation::{NATIVE_WRAPPER, parse_line};

/// Seen so far of one run.
#[derive(Default)]
pub(super) struct Run {
    header: Header,
    tally: Tally,
    book: Book,
    tasks: Tasks,
    /// Whether the head is still to come or going on.
    in_head: bool,
    /// Whether the root element was there: it is not in a compiler thread's own file.
    has_root: bool,
    /// Whether the root element was closed.
    ended: bool,
    /// The thread that writes to the main stream.
    writer: Option<i64>,
    /// Compiler threads told by the code that they installed: tid → "c1".
    installers: BTreeMap<i64, String>,
    trap: Option<Trap>,
    code_cache_full: Option<CodeCacheFull>,
    sweep_started_ns: Option<i64>,
    /// The element whose text is being passed over.
    text_of: Vec<u8>,
    /// A line of markup that has no end: damage, or the last line of a log that was cut off.
    half: Option<(u64, Vec<u8>)>,
    last_ns: i64,
    lines: u64,
    bytes: u64,
}

/// An uncommon trap taken at run time, whose frames follow.
struct Trap {
    line: u64,
    stamp_ns: i64,
    key: i64,
    tid: Option<i64>,
    tier: u8,
    reason: String,
    action: String,
    compiler: String,
    /// The innermost frame: method, bytecode index, decompiles.
    frame: Option<(String, Option<f64>, Option<f64>)>,
}

/// A full code cache, whose summary follows as text.
struct CodeCacheFull {
    line: u64,
    stamp_ns: i64,
    free_bytes: Option<f64>,
    compiler_disabled: bool,
}

impl Run {
    pub(super) fn new() -> Self {
        Self { in_head: true, ..Self::default() }
    }

    /// Whether this line begins the log of another run of a JVM.
    pub(super) fn is_followed_by(&self, element: Option<&Element<'_>>) -> bool {
        let Some(element) = element.filter(|element| !element.closes) else { return false };
        match element.name {
            b"hotspot_log" => self.has_root || self.last_ns > 0,
            b"start_compile_thread" => {
                let pid = element.number(b"process");
                pid.is_some() && self.header.pid.is_some() && pid != self.header.pid
            }
            _ => false,
        }
    }

    /// Takes a line.
    pub(super) fn take(&mut self, number: u64, line: &[u8], element: Option<Element<'_>>, out: &mut Out<'_>) {
        self.lines += 1;
        self.bytes += line.len() as u64 + 1;
        let Some(element) = element else {
            return self.text(number, line);
        };
        // Nine lines of ten are a task's parse tree.
        if self.tasks.is_in_task() && elements::is_parse_tree(element.name) {
            return;
        }
        if let Some((number, line)) = self.half.take() {
            self.tally.unknown(number, &line);
        }
        if self.in_head && self.header.take(line, Some(&element)) {
            return;
        }
        if element.closes {
            return self.end_tag(element.name, out);
        }
        if !self.is_known(&element) {
            return self.tally.unknown(number, line);
        }
        if !element.is_whole() && !element.name.is_empty() {
            self.half = Some((number, line.iter().copied().take(200).collect()));
            return;
        }
        if element.name != b"jvms" {
            self.finish_pending(out);
        }
        if !self.element(number, &element, out) {
            self.tally.unknown(number, line);
        }
    }

    /// Text: the head's, an element's own, or what the JVM printed into its log.
    fn text(&mut self, number: u64, line: &[u8]) {
        if self.in_head && self.header.take(line, None) {
            return;
        }
        if let Some(full) = &mut self.code_cache_full {
            // "compilation: disabled (not enough contiguous free space left)"; with a capital since JDK 25.
            full.compiler_disabled |= memchr::memmem::find(line, b"ompilation: disabled").is_some();
            return;
        }
        // PrintCompilation and PrintInlining print into the log as well; the elements beside it tell more.
        let is_known = !self.text_of.is_empty()
            || line.trim_ascii().is_empty()
            || line.trim_ascii_start().starts_with(b"@ ")
            || memchr::memmem::find(line, b"-&gt; TypeProfile").is_some()
            || parse_line(line).is_some()
            || parse_line(super::markup::decoded(line).as_bytes()).is_some();
        if !is_known {
            self.tally.unknown(number, line);
        }
    }

    fn end_tag(&mut self, name: &[u8], out: &mut Out<'_>) {
        if name == self.text_of {
            self.text_of.clear();
        }
        match name {
            b"uncommon_trap" => self.finish_pending(out),
            b"hotspot_log" => self.ended = true,
            b"compilation_log" | b"fragment" => self.tasks.cut_off(),
            _ => {}
        }
    }

    fn is_known(&self, element: &Element<'_>) -> bool {
        elements::is_read(element.name) || elements::is_of_no_interest(element.name)
    }

    /// Takes an element that may be wanted. `false`: it lacks what it needs.
    fn element(&mut self, number: u64, element: &Element<'_>, out: &mut Out<'_>) -> bool {
        let stamp_ns = element.stamp_ns();
        self.last_ns = self.last_ns.max(stamp_ns.unwrap_or(0));
        match element.name {
            b"hotspot_log" => {
                self.has_root = true;
                self.header.open(element);
                out.source().anchor = self.header.anchor();
            }
            b"tty" => self.end_head(out),
            b"writer" => self.writer = element.number(b"thread"),
            b"task_queued" => {
                let tier = self.tier(element);
                return self.book.queued(element, tier, number);
            }
            b"nmethod" => return self.installed(number, element, out),
            b"make_not_entrant" | b"make_not_used" | b"make_unloaded" | b"make_zombie" => {
                return self.invalidated(number, element, out);
            }
            b"make_not_compilable" => return self.not_compilable(number, element, out),
            b"uncommon_trap" if element.raw(b"thread").is_some() => return self.trap(number, element, out),
            b"jvms" => self.frame(element),
            b"dependency_failed" => return self.dependency(number, element, out),
            b"code_cache_full" => {
                let Some(stamp_ns) = stamp_ns else { return false };
                let free_bytes = element.figure(b"free_code_cache");
                self.code_cache_full =
                    Some(CodeCacheFull { line: number, stamp_ns, free_bytes, compiler_disabled: false });
            }
            b"sweeper" => return self.sweep(number, element, out),
            b"compilation_log" | b"start_compile_thread" => {
                self.end_head(out);
                let pid = element.number(b"process");
                self.header.pid = self.header.pid.or(pid);
                let process = out.process();
                process.pid = process.pid.or(pid);
                self.tasks.thread(element);
            }
            b"task" => {
                let tier = self.tier(element);
                return self.tasks.open(number, element, tier, &mut self.book, out);
            }
            b"failure" => self.tasks.failure(element),
            b"code_cache" => self.tasks.code_cache(element),
            b"task_done" => return self.tasks.done(element, out),
            name if elements::holds_text(name) && !element.is_empty() => {
                self.text_of.clear();
                self.text_of.extend_from_slice(name);
            }
            _ => {}
        }
        true
    }

    /// The head is over: writes down what it told.
    fn end_head(&mut self, out: &mut Out<'_>) {
        if std::mem::take(&mut self.in_head) {
            self.header.tell(out.process());
            self.tasks.code_cache_bytes = self.header.code_cache_bytes().map(|bytes| bytes as f64);
        }
    }

    fn tier(&self, element: &Element<'_>) -> u8 {
        let level = element.number(b"level").and_then(|level| u8::try_from(level).ok());
        level.unwrap_or_else(|| self.header.highest_tier())
    }

    fn installed(&mut self, line: u64, element: &Element<'_>, out: &mut Out<'_>) -> bool {
        let (Some(key), Some(method), Some(stamp_ns)) =
            (book::key(element), element.method(b"method"), element.stamp_ns())
        else {
            return false;
        };
        self.book.installed(key, &method, stamp_ns);
        let compiler = element.text(b"compiler").unwrap_or_default();
        let is_native = element.raw(b"compile_kind") == Some(b"c2n");
        if let (Some(writer), false) = (self.writer, compiler.is_empty()) {
            self.installers.entry(writer).or_insert_with(|| compiler.to_string());
        }
        let tier = if is_native { 0 } else { self.tier(element) };
        let mut figures = vec![(figure::TIER, f64::from(tier))];
        figures.extend(element.figure(b"bytes").map(|bytes| (figure::BYTECODES, bytes)));
        figures.extend(element.figure(b"size").map(|bytes| (figure::NMETHOD_BYTES, bytes)));
        let mut labels = Vec::new();
        if !compiler.is_empty() {
            labels.push((label::COMPILER, &*compiler));
        }
        if is_native {
            labels.push((label::REASON, NATIVE_WRAPPER));
        }
        let row = SpanRow {
            kind: kind::JIT_INSTALL,
            name: &method,
            figures: &figures,
            labels: &labels,
            ..event(stamp_ns, line, key.0, out)
        };
        out.put(&row);
        true
    }

    fn invalidated(&mut self, line: u64, element: &Element<'_>, out: &mut Out<'_>) -> bool {
        let (Some(key), Some(stamp_ns)) = (book::key(element), element.stamp_ns()) else { return false };
        let reason = match element.name {
            b"make_zombie" => Some("zombie".into()),
            b"make_unloaded" => Some("unloaded".into()),
            b"make_not_used" => Some("not used".into()),
            _ if element.raw(b"zombie") == Some(b"1") => Some("zombie".into()),
            _ => element.text(b"reason"),
        };
        let compiler = element.text(b"compiler").unwrap_or_default();
        let mut labels = Vec::new();
        labels.extend(reason.as_deref().map(|reason| (label::REASON, reason)));
        if !compiler.is_empty() {
            labels.push((label::COMPILER, &*compiler));
        }
        let row = SpanRow {
            kind: kind::JIT_INVALIDATE,
            name: self.method(key),
            figures: &[(figure::TIER, f64::from(self.tier(element)))],
            labels: &labels,
            ..event(stamp_ns, line, key.0, out)
        };
        out.put(&row);
        true
    }

    fn method(&self, key: Key) -> &str {
        self.book.method(key).unwrap_or("(unknown method)")
    }

    /// A method that will not be compiled again: the JVM gave it up.
    fn not_compilable(&mut self, line: u64, element: &Element<'_>, out: &mut Out<'_>) -> bool {
        let (Some(method), Some(stamp_ns)) = (element.method(b"method"), element.stamp_ns()) else {
            return false;
        };
        let reason = element.text(b"reason").unwrap_or_default();
        let reason = if reason.is_empty() {
            "made not compilable".to_owned()
        } else {
            format!("made not compilable: {reason}")
        };
        let row = SpanRow {
            kind: kind::JIT_FAILURE,
            name: &method,
            figures: &[(figure::TIER, f64::from(self.tier(element)))],
            labels: &[(label::REASON, &reason)],
            ..event(stamp_ns, line, -1, out)
        };
        out.put(&row);
        true
    }

    fn trap(&mut self, line: u64, element: &Element<'_>, out: &mut Out<'_>) -> bool {
        let Some(stamp_ns) = element.stamp_ns() else { return false };
        let text = |name| element.text(name).unwrap_or_default().into_owned();
        self.trap = Some(Trap {
            line,
            stamp_ns,
            key: element.number(b"compile_id").unwrap_or(-1),
            tid: element.number(b"thread"),
            tier: self.tier(element),
            reason: text(b"reason"),
            action: text(b"action"),
            compiler: text(b"compiler"),
            frame: None,
        });
        if element.is_empty() {
            self.finish_pending(out);
        }
        true
    }

    /// The first frame of a trap is the method that trapped; the others called it.
    fn frame(&mut self, element: &Element<'_>) {
        if let Some(trap) = self.trap.as_mut().filter(|trap| trap.frame.is_none()) {
            let method = element.method(b"method").unwrap_or_default();
            trap.frame = Some((method, element.figure(b"bci"), element.figure(b"decompiles")));
        }
    }

    /// Writes what waited for more to be said of it.
    fn finish_pending(&mut self, out: &mut Out<'_>) {
        if let Some(trap) = self.trap.take() {
            write_trap(&trap, self.method((trap.key, false)), out);
        }
        if let Some(full) = self.code_cache_full.take() {
            let mut figures = vec![(figure::COMPILER_DISABLED, f64::from(u8::from(full.compiler_disabled)))];
            figures.retain(|(_, disabled)| *disabled > 0.0);
            figures.extend(full.free_bytes.map(|bytes| (figure::CODE_CACHE_FREE_BYTES, bytes)));
            let row = SpanRow {
                kind: kind::JIT_CODE_CACHE_FULL,
                name: "code cache full",
                figures: &figures,
                ..event(full.stamp_ns, full.line, -1, out)
            };
            out.put(&row);
        }
    }

    fn dependency(&mut self, line: u64, element: &Element<'_>, out: &mut Out<'_>) -> bool {
        let Some(stamp_ns) = element.stamp_ns() else { return false };
        // x is the method that was thought to be the only one, where it is one; ctxk the class that was relied on.
        let is_method = element.raw(b"x").is_some_and(|x| x.contains(&b' '));
        let name = element.method(if is_method { b"x" } else { b"ctxk" }).unwrap_or_default();
        let witness = element.text(b"witness").map(|witness| class_name(&witness)).unwrap_or_default();
        let kind_of = element.text(b"type").unwrap_or_default();
        let labels = [(label::REASON, &*kind_of), (label::WITNESS, &witness)];
        let row = SpanRow {
            kind: kind::JIT_DEPENDENCY,
            name: &name,
            labels: &labels,
            ..event(stamp_ns, line, -1, out)
        };
        out.put(&row);
        true
    }

    /// A sweep is told at its end, in some JDKs at its start as well.
    fn sweep(&mut self, line: u64, element: &Element<'_>, out: &mut Out<'_>) -> bool {
        let Some(stamp_ns) = element.stamp_ns() else { return false };
        let state = element.text(b"state").unwrap_or_default();
        if state == "started" {
            self.sweep_started_ns = Some(stamp_ns);
            return true;
        }
        let free = element.figure(b"free_code_cache").map(|bytes| (figure::CODE_CACHE_FREE_BYTES, bytes));
        let figures: Vec<_> = free.into_iter().collect();
        let row = SpanRow {
            kind: kind::JIT_SWEEP,
            name: "code cache sweep",
            figures: &figures,
            labels: &[(label::REASON, &state)],
            ..event(stamp_ns, line, -1, out)
        };
        let t0_ns = self.sweep_started_ns.take().unwrap_or(stamp_ns);
        out.put(&SpanRow { t0_ns, ..row });
        true
    }

    /// The log ends here. `in_line`: without a line break.
    pub(super) fn finish(mut self, in_line: bool, out: &mut Out<'_>) {
        if let Some((number, line)) = self.half.take().filter(|_| !in_line) {
            self.tally.unknown(number, &line);
        }
        self.finish_pending(out);
        self.end_head_if_any(out);
        if !out.has_source() && self.book.fates.queued == 0 {
            return;
        }
        let tasks_cut = self.tasks.finish(self.last_ns, out);
        self.book.close(out);
        let threads = self.compiler_threads();
        if !threads.is_empty() {
            out.process().facts.insert(fact::COMPILER_THREADS.to_owned(), threads);
        }
        let checks = self.checks();
        out.cover(self.last_ns);
        self.tally.records += out.records;
        let source = out.source();
        source.lines = self.lines;
        source.bytes = self.bytes;
        // A compiler thread's file has no end mark: it is whole when its last task is.
        source.cut = if self.has_root { !self.ended } else { tasks_cut || in_line };
        source.checks = checks;
        self.tally.add_to(source);
    }

    fn end_head_if_any(&mut self, out: &mut Out<'_>) {
        if self.has_root {
            self.end_head(out);
        }
    }

    /// "C1=1 C2=2": as their parts of the log say, else as the code that they installed does.
    fn compiler_threads(&self) -> String {
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        let told: Vec<_> = self.tasks.threads().collect();
        let seen = self.installers.values().map(String::as_str).filter(|_| told.is_empty());
        for compiler in told.iter().copied().chain(seen) {
            *counts.entry(compiler.to_uppercase()).or_default() += 1;
        }
        let counts: Vec<_> = counts.iter().map(|(compiler, n)| format!("{compiler}={n}")).collect();
        counts.join(" ")
    }

    fn checks(&self) -> Vec<Check> {
        let fates = self.book.fates;
        let mut checks = Vec::new();
        let mut check = |claim: &str, holds: bool, detail: String| {
            checks.push(Check { claim: claim.to_owned(), holds, detail });
        };
        if fates.queued > 0 {
            let settled = fates.started + fates.only_installed + fates.open;
            check(
                "every queued task is accounted for",
                fates.twice == 0 && settled == fates.queued && (!self.ended || fates.unqueued == 0),
                format!(
                    "{} queued: {} started, {} installed without a start in this log, {} neither; {} queued twice; \
                     {} started without having been queued",
                    fates.queued,
                    fates.started,
                    fates.only_installed,
                    fates.open,
                    fates.twice,
                    fates.unqueued
                ),
            );
            check(
                "no wait in the queue is negative",
                fates.negative_waits == 0,
                format!("{} of {} are", fates.negative_waits, fates.started),
            );
        }
        let (done, backwards) = self.tasks.done_and_backwards();
        if done > 0 {
            check("no task ends before it starts", backwards == 0, format!("{backwards} of {done} do"));
        }
        checks
    }
}

fn write_trap(trap: &Trap, compiled: &str, out: &mut Out<'_>) {
    let mut figures = vec![(figure::TIER, f64::from(trap.tier))];
    let mut name = compiled;
    if let Some((method, bci, decompiles)) = &trap.frame {
        name = method;
        figures.extend(bci.map(|bci| (figure::BCI, bci)));
        figures.extend(decompiles.map(|times| (figure::DECOMPILES, times)));
    }
    let mut labels = vec![(label::REASON, &*trap.reason), (label::ACTION, &*trap.action)];
    labels.push((label::COMPILER, &trap.compiler));
    labels.retain(|(_, text)| !text.is_empty());
    let thread = trap.tid.map(|tid| out.thread(tid, "", Role::App));
    let row = SpanRow {
        kind: kind::JIT_TRAP,
        name,
        thread,
        figures: &figures,
        labels: &labels,
        ..event(trap.stamp_ns, trap.line, trap.key, out)
    };
    out.put(&row);
}

/// An event at a moment, to be filled.
fn event(stamp_ns: i64, line: u64, key: i64, out: &mut Out<'_>) -> SpanRow<'static> {
    SpanRow { t0_ns: stamp_ns, t1_ns: stamp_ns, line, key, ..out.row() }
}
