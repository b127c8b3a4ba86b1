//! The main stream of a log: what the JVM writes while it runs.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{Role, SpanRow};

use super::markup::{Element, class_name};
use super::open_tasks::{self, Key, OpenTasks};
use super::out::Out;
use crate::jit::print_compilation::NATIVE_WRAPPER;

/// The state of the main stream.
#[derive(Default)]
pub(super) struct MainStream {
    pub(super) open_tasks: OpenTasks,
    /// The thread that writes.
    writer: Option<i64>,
    /// Compiler threads, known from the code that they installed: tid → "c1".
    installers: BTreeMap<i64, String>,
    trap: Option<Trap>,
    code_cache_full: Option<CodeCacheFull>,
    sweep_started_ns: Option<i64>,
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

impl MainStream {
    /// Takes an element. `false`: it lacks what it needs.
    pub(super) fn take(&mut self, line: u64, element: &Element<'_>, tier: u8, out: &mut Out<'_>) -> bool {
        if element.name != b"jvms" {
            self.finish_pending(out);
        }
        match element.name {
            b"writer" => self.writer = element.number(b"thread"),
            b"task_queued" => return self.open_tasks.queued(element, tier, line),
            b"nmethod" => return self.installed(line, element, tier, out),
            b"make_not_entrant" | b"make_not_used" | b"make_unloaded" | b"make_zombie" => {
                return self.invalidated(line, element, tier, out);
            }
            b"make_not_compilable" => return not_compilable(line, element, tier, out),
            b"uncommon_trap" if element.raw(b"thread").is_some() => {
                return self.trapped(line, element, tier, out);
            }
            b"jvms" => self.frame(element),
            b"dependency_failed" => return dependency(line, element, out),
            b"code_cache_full" => {
                let Some(stamp_ns) = element.stamp_ns() else { return false };
                let free_bytes = element.figure(b"free_code_cache");
                self.code_cache_full =
                    Some(CodeCacheFull { line, stamp_ns, free_bytes, compiler_disabled: false });
            }
            b"sweeper" => return self.sweep(line, element, out),
            _ => {}
        }
        true
    }

    /// Takes a line of text if it is the summary of a full code cache.
    pub(super) fn text(&mut self, line: &[u8]) -> bool {
        let Some(full) = &mut self.code_cache_full else { return false };
        // "compilation: disabled (not enough contiguous free space left)"; with a capital since JDK
        // 25.
        full.compiler_disabled |= memchr::memmem::find(line, b"ompilation: disabled").is_some();
        true
    }

    /// The compilers of the threads that installed code.
    pub(super) fn installers(&self) -> impl Iterator<Item = &str> {
        self.installers.values().map(String::as_str)
    }

    fn installed(&mut self, line: u64, element: &Element<'_>, tier: u8, out: &mut Out<'_>) -> bool {
        let (Some(key), Some(method), Some(stamp_ns)) =
            (open_tasks::key(element), element.method(b"method"), element.stamp_ns())
        else {
            return false;
        };
        self.open_tasks.installed(key, &method, stamp_ns);
        let compiler = element.text(b"compiler").unwrap_or_default();
        let is_native = element.raw(b"compile_kind") == Some(b"c2n");
        if let (Some(writer), false) = (self.writer, compiler.is_empty()) {
            self.installers.entry(writer).or_insert_with(|| compiler.to_string());
        }
        let tier = if is_native { 0 } else { tier };
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

    fn invalidated(&mut self, line: u64, element: &Element<'_>, tier: u8, out: &mut Out<'_>) -> bool {
        let (Some(key), Some(stamp_ns)) = (open_tasks::key(element), element.stamp_ns()) else {
            return false;
        };
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
            figures: &[(figure::TIER, f64::from(tier))],
            labels: &labels,
            ..event(stamp_ns, line, key.0, out)
        };
        out.put(&row);
        true
    }

    fn method(&self, key: Key) -> &str {
        self.open_tasks.method(key).unwrap_or("(unknown method)")
    }

    fn trapped(&mut self, line: u64, element: &Element<'_>, tier: u8, out: &mut Out<'_>) -> bool {
        let Some(stamp_ns) = element.stamp_ns() else { return false };
        let text = |name| element.text(name).unwrap_or_default().into_owned();
        self.trap = Some(Trap {
            line,
            stamp_ns,
            key: element.number(b"compile_id").unwrap_or(-1),
            tid: element.number(b"thread"),
            tier,
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

    /// Writes what waited for more details.
    pub(super) fn finish_pending(&mut self, out: &mut Out<'_>) {
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

    /// A sweep is reported at its end, in some JDKs at its start as well.
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
        stack: None,
        figures: &figures,
        labels: &labels,
        ..event(trap.stamp_ns, trap.line, trap.key, out)
    };
    out.put(&row);
}

/// An event, to be filled.
fn event(stamp_ns: i64, line: u64, key: i64, out: &mut Out<'_>) -> SpanRow<'static> {
    SpanRow { t0_ns: stamp_ns, t1_ns: stamp_ns, line, key, ..out.row() }
}

/// A method that will not be compiled again: the JVM gave it up.
fn not_compilable(line: u64, element: &Element<'_>, tier: u8, out: &mut Out<'_>) -> bool {
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
        figures: &[(figure::TIER, f64::from(tier))],
        labels: &[(label::REASON, &reason)],
        ..event(stamp_ns, line, -1, out)
    };
    out.put(&row);
    true
}

fn dependency(line: u64, element: &Element<'_>, out: &mut Out<'_>) -> bool {
    let Some(stamp_ns) = element.stamp_ns() else { return false };
    // x is the method that was assumed to be the only one, if it is a method; ctxk the class that
    // was relied on.
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
