//! Probes that a user asks for ([`Spec`]): calls of a function of a library, USDT probes,
//! tracepoints of the kernel; each hit with its arguments and its stack, as a span of kind
//! [`kind::PROBE`].
//!
//! They cost what a trap costs (a microsecond, ten on a nested virtual machine; a tracepoint a
//! fraction of it), at every hit, whether it is shown or not: what is hit 100,000 times a second
//! slows the target down. Nothing stays attached when fathom ends.

mod event;
mod format;
pub(crate) mod library;

use std::collections::HashMap;
use std::os::fd::{AsRawFd, IntoRawFd};

use fathom_hotspot::Vm;
use fathom_hotspot::locks::Locks;
use fathom_recording::vocabulary::{figure, kind, sample};
use fathom_recording::{FrameType, SampleRow, SpanRow, StackId};
use libbpf_rs::{Link, UprobeOpts, UsdtOpts};

use crate::bpf::object::skeleton;
use crate::bpf::record::read;
use crate::bpf::remedy_of_uprobe;
use crate::event_stacks::Events;
pub use crate::probe_spec::Spec;
use crate::target::Change;
use crate::{CaptureEngine, Collector, Context, Entry, Order, Service, Settings, TargetEvent, Unavailable};
use crate::{perf_event, tracefs};
use event::Event;
use format::{Format, Value};

skeleton!("probe");
use skeleton::{ProbeSkel, ProbeSkelBuilder};

/// What cannot be seen without it.
pub const WHAT: &str = "the probes that were asked for";

/// What cannot be seen of one process without it.
pub fn in_process(pid: i32) -> String {
    format!("{WHAT}, in process {pid}")
}

/// The line in the list of collectors.
pub const ENTRY: Entry = Entry {
    id: "probes",
    about: "functions, USDT probes and tracepoints that are asked for by name (fathom trace)",
    engine: CaptureEngine::Ebpf,
    needs: &[Service::Unwinder],
    essential: false,
    default: false,
    order: Order::Listed,
    make: |settings: &Settings| Box::new(Probes::new(settings)),
};

/// Events taken in one round; what is left waits in the kernel's buffer.
const MOST_EVENTS: usize = 50_000;

/// The slow path of an allocation (src/hotspot/share/gc/shared/allocTracer.hpp, JDK 11 to 25:
/// `Klass*`, address, size of the buffer, size of the object, thread; without the third for one
/// outside of a buffer), and which argument is the size.
const ALLOCATIONS: [(&str, usize); 2] =
    [("AllocTracer::send_allocation_in_new_tlab", 2), ("AllocTracer::send_allocation_outside_tlab", 2)];

/// One that is attached, by its number.
#[derive(Clone)]
enum Attached {
    /// A function: frame that stands for it where it is returned from.
    Function {
        name: String,
        symbol: String,
        module: String,
    },
    Usdt {
        name: String,
    },
    Tracepoint {
        name: String,
        format: Format,
    },
    /// Which argument is the size.
    Alloc {
        size: usize,
    },
}

/// The collector.
struct Probes {
    specs: Vec<Spec>,
    min_ns: u64,
    loaded: Option<ProbeSkel<'static>>,
    links: HashMap<i32, Vec<Link>>,
    /// Of the kernel, for all targets.
    kernel_links: Vec<Link>,
    attached: Vec<Attached>,
    events: Option<Events<Event>>,
    /// JVMs whose classes are named.
    jvms: HashMap<i32, Option<(Vm, Locks)>>,
}

impl Probes {
    fn new(settings: &Settings) -> Self {
        Self {
            specs: settings.probes.clone(),
            min_ns: settings.probes_min_ns.or(settings.min_ns).unwrap_or(0),
            loaded: None,
            links: HashMap::new(),
            kernel_links: Vec::new(),
            attached: Vec::new(),
            events: None,
            jvms: HashMap::new(),
        }
    }

    /// Gives a probe its number.
    fn number(&mut self, attached: Attached) -> u64 {
        self.attached.push(attached);
        self.attached.len() as u64 - 1
    }

    /// Attaches what is asked for in a process.
    fn attach(&mut self, pid: i32) -> Result<Vec<Link>, String> {
        let mut links = Vec::new();
        for spec in self.specs.clone() {
            let failed = |error: String| format!("{spec}: {error}");
            match &spec {
                Spec::Uprobe { library, symbol } => {
                    let file = library::find(pid, library).map_err(failed)?;
                    let offset = library::function(&file, symbol).map_err(failed)? as usize;
                    let module = library.rsplit('/').next().unwrap_or(library).to_owned();
                    let name = spec.to_string();
                    let cookie = self.number(Attached::Function { name, symbol: symbol.clone(), module });
                    let programs = self.loaded.as_ref().map(|loaded| &loaded.progs);
                    let programs = programs.ok_or("no program").map_err(|e| failed(e.into()))?;
                    for (program, retprobe) in
                        [(&programs.probe_return, true), (&programs.probe_enter, false)]
                    {
                        let opts = UprobeOpts { cookie, retprobe, ..UprobeOpts::default() };
                        let link = program.attach_uprobe_with_opts(pid, &file, offset, opts);
                        links.push(link.map_err(|error| failed(error.to_string()))?);
                    }
                }
                Spec::Usdt { library, provider, name } => {
                    let file = library::find(pid, library).map_err(failed)?;
                    let cookie = self.number(Attached::Usdt { name: spec.to_string() });
                    let program = self.loaded.as_ref().map(|loaded| &loaded.progs.probe_usdt);
                    let program = program.ok_or("no program").map_err(|e| failed(e.into()))?;
                    let opts = UsdtOpts { cookie, ..UsdtOpts::default() };
                    let link =
                        program.attach_usdt_with_opts(pid, &file, provider, name, opts).map_err(|error| {
                            let list = format!("`readelf -n {}` lists those that there are", file.display());
                            failed(format!("{error}; it has no such probe: {list}"))
                        });
                    links.push(link?);
                }
                Spec::Alloc => {
                    let file = library::find(pid, "libjvm.so").map_err(failed)?;
                    for (symbol, size) in ALLOCATIONS {
                        let offset = library::function(&file, symbol).map_err(|error| {
                            failed(format!(
                                "{error}; allocations are seen where libjvm has the names of its own functions (JDK 11 on; \
                                 Debian's, Temurin's); -XX:+DTraceAllocProbes would report each one, at a high price"
                            ))
                        })?;
                        let cookie = self.number(Attached::Alloc { size });
                        let program = self.loaded.as_ref().map(|loaded| &loaded.progs.probe_hit);
                        let program = program.ok_or("no program").map_err(|e| failed(e.into()))?;
                        let opts = UprobeOpts { cookie, ..UprobeOpts::default() };
                        let link = program.attach_uprobe_with_opts(pid, &file, offset as usize, opts);
                        links.push(link.map_err(|error| failed(error.to_string()))?);
                    }
                }
                Spec::Tracepoint { .. } => {}
            }
        }
        Ok(links)
    }

    /// Attaches tracepoints, once for all targets.
    fn attach_to_kernel(&mut self) -> Result<(), String> {
        for spec in self.specs.clone() {
            let Spec::Tracepoint { category, name } = &spec else { continue };
            let text = tracefs::format(category, name).map_err(|error| format!("{spec}: {error}"))?;
            let format =
                Format::parse(&text).ok_or_else(|| format!("{spec}: its format is not understood"))?;
            let id = format.id;
            let _cookie = self.number(Attached::Tracepoint { name: spec.to_string(), format });
            let program = self.loaded.as_ref().map(|loaded| &loaded.progs.probe_tracepoint);
            let program = program.ok_or("no program")?;
            // Its programs run wherever it is hit, whatever CPU the event is of.
            let cpu = perf_event::online().first().copied().unwrap_or(0);
            let event = perf_event::tracepoint(id, cpu).map_err(|error| format!("{spec}: {error}"))?;
            // libbpf closes the event with the link; when there is no link, nobody else does.
            let link = program.attach_perf_event(event.as_raw_fd());
            self.kernel_links.push(link.map_err(|error| format!("{spec}: {error:#}"))?);
            let _ = event.into_raw_fd();
        }
        Ok(())
    }

    fn take(&mut self, event: &Event, cx: &mut Context<'_>) {
        cx.source_mut().records += 1;
        // A tracepoint has no cookie: it is the first of its kind.
        let is_tracepoint = |attached: &&Attached| matches!(attached, Attached::Tracepoint { .. });
        let attached = match self.attached.get(event.probe as usize) {
            Some(Attached::Tracepoint { .. }) | None => self.attached.iter().find(is_tracepoint),
            other => other,
        };
        let Some(attached) = attached.cloned() else { return };
        let mut stack = self.stack(event, cx);
        let mut figures: Vec<(String, f64)> = Vec::new();
        let mut labels: Vec<(String, String)> = Vec::new();
        let name = match &attached {
            Attached::Function { name, symbol, module } => {
                let frame = cx.sink.frame(symbol, module, FrameType::Native, -1);
                stack = Some(cx.sink.stack(stack, frame));
                arguments(event, &mut figures, &mut labels);
                name.clone()
            }
            Attached::Usdt { name } => {
                arguments(event, &mut figures, &mut labels);
                name.clone()
            }
            Attached::Tracepoint { name, format } => {
                for (key, value) in format.values(&event.raw) {
                    match value {
                        Value::Number(number) => figures.push((key.to_owned(), number)),
                        Value::Text(text) => labels.push((key.to_owned(), text)),
                    }
                }
                name.clone()
            }
            Attached::Alloc { size } => {
                let bytes = event.arguments.get(*size).copied().unwrap_or(0);
                figures.push((figure::BYTES.to_owned(), bytes as f64));
                let class = self.class(event);
                let frame = cx.sink.frame(&class, "", FrameType::Unknown, -1);
                stack = Some(cx.sink.stack(stack, frame));
                self.allocation(event, stack, bytes, cx);
                class
            }
        };
        let (pid, tid) = (event.pid.cast_signed(), event.tid.cast_signed());
        let (process, thread) = (cx.process(pid), cx.thread(pid, tid));
        let figures: Vec<(&str, f64)> = figures.iter().map(|(key, n)| (key.as_str(), *n)).collect();
        let labels: Vec<(&str, &str)> =
            labels.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect();
        cx.sink.span(&SpanRow {
            thread: Some(thread),
            stack,
            figures: &figures,
            labels: &labels,
            ..SpanRow::new(
                kind::PROBE,
                &name,
                (cx.clock.epoch_ns(event.t0_ns.cast_signed()), cx.clock.epoch_ns(event.t1_ns.cast_signed())),
                process,
                cx.source,
            )
        });
    }

    fn allocation(&self, event: &Event, stack: Option<StackId>, bytes: u64, cx: &mut Context<'_>) {
        let (pid, tid) = (event.pid.cast_signed(), event.tid.cast_signed());
        let (process, thread) = (cx.process(pid), cx.thread(pid, tid));
        cx.sink.sample(&SampleRow {
            kind: sample::ALLOC,
            t_ns: cx.clock.epoch_ns(event.t0_ns.cast_signed()),
            process,
            thread: Some(thread),
            stack,
            weight: i64::try_from(bytes).unwrap_or(i64::MAX),
            source: cx.source,
        });
    }

    /// The class of what was allocated.
    fn class(&mut self, event: &Event) -> String {
        let pid = event.pid.cast_signed();
        let open = || {
            let vm = Vm::open(event.pid).ok()?;
            let locks = Locks::new(&vm).ok()?;
            Some((vm, locks))
        };
        let known = self.jvms.entry(pid).or_insert_with(open).as_mut();
        let klass = event.arguments.first().copied().unwrap_or(0);
        let class = known.and_then(|(vm, locks)| locks.class_at(vm, klass).ok());
        class.map_or_else(|| "an object of unknown class".to_owned(), |class| class.name)
    }

    fn stack(&mut self, event: &Event, cx: &mut Context<'_>) -> Option<StackId> {
        self.events.as_mut()?.stack((event.pid, event.tid), event.stack_ns, cx)
    }
}

/// Arguments as numbers, what they point to where that is text, and what was returned.
fn arguments(event: &Event, figures: &mut Vec<(String, f64)>, labels: &mut Vec<(String, String)>) {
    for (i, argument) in event.arguments.iter().enumerate() {
        figures.push((format!("arg{i}"), argument.cast_signed() as f64));
    }
    for (i, text) in event.texts.iter().enumerate() {
        labels.extend(text.as_ref().map(|text| (format!("str{i}"), text.clone())));
    }
    figures.extend(event.result.map(|result| (figure::RESULT.to_owned(), returned(result))));
}

/// What a function returned, as a signed number: of one that returns an `int`, only the lower half
/// counts.
fn returned(result: u64) -> f64 {
    let is_int = result >> 32 == 0;
    if is_int { f64::from((result as u32).cast_signed()) } else { result.cast_signed() as f64 }
}

impl Collector for Probes {
    fn start(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        // Of a host, too, only what runs in targets: they have the probes of functions.
        let mut open = cx.kit(&ENTRY, WHAT).sees_all(false).open(ProbeSkelBuilder::default())?;
        open.constants().min_ns = self.min_ns;
        let loaded = open.load()?;
        self.events = Some(Events::of(&loaded, |bytes| Some(Event::of(&read(bytes)?)), MOST_EVENTS, cx)?);
        self.loaded = Some(loaded.skel);
        self.attach_to_kernel().map_err(|why| Unavailable {
            scope: None,
            what: WHAT.into(),
            why,
            remedy: "perf list tracepoint, or bpftrace -l, lists those of this kernel".into(),
        })
    }

    fn target(&mut self, event: &TargetEvent, cx: &mut Context<'_>) {
        let pid = event.target.pid;
        if event.leaves() {
            self.links.remove(&pid);
            self.jvms.remove(&pid);
        }
        let Some(loaded) = &self.loaded else { return };
        event.mark(&loaded.maps.targets);
        if event.change == Change::Gone || self.links.contains_key(&pid) {
            return;
        }
        match self.attach(pid) {
            Ok(links) => drop(self.links.insert(pid, links)),
            Err(why) => {
                let remedy = remedy_of_uprobe().unwrap_or_default().to_owned();
                cx.unseen(Unavailable { scope: None, what: in_process(pid), why, remedy });
            }
        }
    }

    fn drain(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        let events = self.events.as_mut().map(Events::take).unwrap_or_default();
        events.iter().for_each(|event| self.take(event, cx));
        cx.source_mut().lost += self.events.as_mut().map_or(0, Events::lost);
        Ok(())
    }

    fn stop(&mut self, cx: &mut Context<'_>) {
        self.links.clear();
        self.kernel_links.clear();
        // What breaks down now was reported when it did.
        let _ = self.drain(cx);
        (self.events, self.loaded) = (None, None);
    }
}
