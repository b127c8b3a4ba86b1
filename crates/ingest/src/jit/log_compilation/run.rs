//! One run of a JVM, element by element.
//!
//! ```text
//! <hotspot_log>      header: which JVM                                                  header.rs
//! <tty>              main stream, live: queued, installed, invalidated, traps, cache    main_stream.rs
//! </tty>
//! <compilation_log>  one per compiler thread, at exit: its tasks                          task.rs
//!   <fragment>       the task that was truncated by the exit
//! </hotspot_log>
//! ```
//!
//! A compiler thread's own temporary file is the inside of a `<compilation_log>`.

use fathom_recording::quantity::whole;
use std::collections::BTreeMap;

use fathom_recording::Check;
use fathom_recording::vocabulary::fact;

use super::elements;
use super::header::Header;
use super::main_stream::MainStream;
use super::markup::Element;
use super::out::Out;
use super::task::Tasks;
use crate::Tally;
use crate::jit::print_compilation::parse_line;

/// The state of one run.
#[derive(Default)]
pub(super) struct Run {
    header: Header,
    tally: Tally,
    main: MainStream,
    tasks: Tasks,
    /// Whether the header is still to come or incomplete.
    in_head: bool,
    /// Whether there was a root element: a compiler thread's own file has none.
    has_root: bool,
    /// Whether the root element was closed.
    ended: bool,
    /// The element whose text is being skipped.
    text_of: Vec<u8>,
    /// The last line that was not understood: damage, unless the log is truncated in it.
    doubt: Option<(u64, Vec<u8>)>,
    last_ns: i64,
    lines: u64,
    bytes: u64,
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
        if self.in_head && self.header.take(line, Some(&element)) {
            return;
        }
        if element.closes {
            return self.end_tag(element.name, out);
        }
        if line.ends_with(b"]]>") {
            // The end of a fragment, in the middle of what the thread was about to write.
            return;
        }
        let is_known = elements::is_read(element.name) || elements::is_of_no_interest(element.name);
        let is_whole = element.is_whole() || element.name.is_empty();
        if !is_known || !is_whole || !self.element(number, &element, out) {
            self.doubt(number, line);
        }
    }

    /// Holds a line that was not understood until it is known whether the log is truncated in it.
    fn doubt(&mut self, number: u64, line: &[u8]) {
        let line = line.iter().copied().take(200).collect();
        if let Some((number, line)) = self.doubt.replace((number, line)) {
            self.tally.unknown(number, &line);
        }
    }

    /// Text: of the header, of an element, or what the JVM printed into its log.
    fn text(&mut self, number: u64, line: &[u8]) {
        if self.in_head && self.header.take(line, None) {
            return;
        }
        // PrintCompilation and PrintInlining print into the log as well; the elements next to it
        // have more details.
        let is_known = self.main.text(line)
            || !self.text_of.is_empty()
            || line.trim_ascii().is_empty()
            || line.trim_ascii_start().starts_with(b"@ ")
            || memchr::memmem::find(line, b"-&gt; TypeProfile").is_some()
            || parse_line(line).is_some()
            || parse_line(super::markup::decoded(line).as_bytes()).is_some();
        if !is_known {
            self.doubt(number, line);
        }
    }

    fn end_tag(&mut self, name: &[u8], out: &mut Out<'_>) {
        if name == self.text_of {
            self.text_of.clear();
        }
        match name {
            b"uncommon_trap" => self.main.finish_pending(out),
            b"hotspot_log" => self.ended = true,
            b"compilation_log" | b"fragment" => self.tasks.truncate_open(),
            _ => {}
        }
    }

    /// Takes an element that may be needed. `false`: it lacks what it needs.
    fn element(&mut self, number: u64, element: &Element<'_>, out: &mut Out<'_>) -> bool {
        self.last_ns = self.last_ns.max(element.stamp_ns().unwrap_or(0));
        let tier = self.tier(element);
        match element.name {
            b"hotspot_log" => {
                self.has_root = true;
                self.tasks.is_whole_log = true;
                self.header.open(element);
                out.source().anchor = self.header.anchor();
            }
            b"tty" => self.end_head(out),
            b"compilation_log" | b"start_compile_thread" => {
                self.end_head(out);
                let pid = element.number(b"process");
                self.header.pid = self.header.pid.or(pid);
                let process = out.process();
                process.pid = process.pid.or(pid);
                self.tasks.thread(element);
            }
            b"task" => return self.tasks.open(number, element, tier, &mut self.main.open_tasks, out),
            b"failure" => self.tasks.failure(element),
            b"code_cache" => self.tasks.code_cache(element),
            b"task_done" => return self.tasks.done(element, out),
            name if elements::holds_text(name) && !element.is_empty() => {
                self.text_of.clear();
                self.text_of.extend_from_slice(name);
            }
            _ => return self.main.take(number, element, tier, out),
        }
        true
    }

    /// The header is complete: writes its facts.
    fn end_head(&mut self, out: &mut Out<'_>) {
        if std::mem::take(&mut self.in_head) {
            self.header.describe(out.process());
            self.tasks.code_cache_bytes = self.header.code_cache_bytes().map(|bytes| bytes as f64);
        }
    }

    fn tier(&self, element: &Element<'_>) -> u8 {
        let level = element.number(b"level").and_then(|level| u8::try_from(level).ok());
        level.unwrap_or_else(|| self.header.highest_tier())
    }

    /// The log ends here, with this line; `in_line`: without a line break.
    pub(super) fn finish(mut self, in_line: bool, last_line: u64, out: &mut Out<'_>) {
        let is_cut = |(number, _): &(u64, Vec<u8>)| in_line && *number == last_line;
        if let Some((number, line)) = self.doubt.take().filter(|doubt| !is_cut(doubt)) {
            self.tally.unknown(number, &line);
        }
        self.main.finish_pending(out);
        self.end_head_if_any(out);
        if !out.has_source() && self.main.open_tasks.fates.queued == 0 {
            return;
        }
        let tasks_truncated = self.tasks.finish(self.last_ns, out);
        self.main.open_tasks.close(out);
        // A compiler thread's own file has one thread only.
        let threads = self.compiler_threads();
        if self.has_root && !threads.is_empty() {
            out.process().facts.insert(fact::COMPILER_THREADS.to_owned(), threads);
        }
        let checks = self.checks();
        out.cover(self.last_ns);
        self.tally.records += out.records;
        let source = out.source();
        source.lines = self.lines;
        source.bytes = self.bytes;
        // A compiler thread's file has no end mark: it is complete when its last task is.
        source.cut = if self.has_root { !self.ended } else { tasks_truncated || in_line };
        source.checks = checks;
        self.tally.add_to(source);
    }

    fn end_head_if_any(&mut self, out: &mut Out<'_>) {
        if self.has_root {
            self.end_head(out);
        }
    }

    /// "C1=1 C2=2": from their parts of the log, otherwise from the code that they installed.
    fn compiler_threads(&self) -> String {
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        let of_tasks: Vec<_> = self.tasks.threads().collect();
        let seen = self.main.installers().filter(|_| of_tasks.is_empty());
        for compiler in of_tasks.iter().copied().chain(seen) {
            *counts.entry(compiler.to_uppercase()).or_default() += 1;
        }
        let counts: Vec<_> = counts.iter().map(|(compiler, n)| format!("{compiler}={n}")).collect();
        counts.join(" ")
    }

    fn checks(&self) -> Vec<Check> {
        let fates = self.main.open_tasks.fates;
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
                    whole(fates.queued),
                    whole(fates.started),
                    whole(fates.only_installed),
                    whole(fates.open),
                    whole(fates.twice),
                    whole(fates.unqueued)
                ),
            );
            check(
                "no wait in the queue is negative",
                fates.negative_waits == 0,
                format!("{} of {} are", whole(fates.negative_waits), whole(fates.started)),
            );
        }
        let (done, backwards) = self.tasks.done_and_backwards();
        if done > 0 {
            check(
                "no task ends before it starts",
                backwards == 0,
                format!("{} of {} do", whole(backwards), whole(done)),
            );
        }
        checks
    }
}
