//! What the numbers in a chunk's events refer to: strings, classes, methods, threads, stacks.
//!
//! Each is resolved once per chunk and cached under its key. A pool may be damaged so that an entry
//! refers to itself; resolving is limited to a few steps.

use std::borrow::Cow;
use std::ops::Deref;
use std::rc::Rc;

use fathom_recording::{FrameId, FrameType, ProcessId, Role, Sink, ThreadId};
use rustc_hash::FxHashMap;

use super::bytes::{Bytes, Text};
use super::layout::{Clock, Layout, Value};
use super::metadata::Types;
use super::pools::{ByEntry, Pools};
use super::stacks::Stacks;
use crate::java_names;

/// How many steps one name takes: method → class → symbol → string.
const STEPS: u32 = 5;
/// The most virtual threads that are distinguished; a server makes millions of them.
const VIRTUAL_THREADS: usize = 10_000;

/// How to read an entry of a type's pool as a name.
enum Reading {
    /// A string, or a type with a string in it.
    Text(Layout),
    /// A class: its name has slashes in it.
    Class(Layout),
    /// A method: class and name.
    Method(Layout),
    /// A thread: names and ids.
    Thread(Layout),
    /// It has no name.
    No,
}

/// The name of a value.
#[derive(Clone)]
pub(super) enum Name<'a> {
    /// In the event itself.
    InPlace(Cow<'a, str>),
    /// In an entry of a pool.
    OfPool(Rc<str>),
}

impl Deref for Name<'_> {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        match self {
            Self::InPlace(name) => name,
            Self::OfPool(name) => name,
        }
    }
}

impl Default for Name<'_> {
    fn default() -> Self {
        Self::InPlace("".into())
    }
}

/// Names of one chunk.
pub(super) struct Names<'a> {
    data: &'a [u8],
    pub(super) compressed: bool,
    pub(super) clock: Clock,
    pub(super) types: &'a Types,
    pub(super) pools: &'a Pools,
    readings: FxHashMap<u32, Rc<Reading>>,
    texts: ByEntry<Option<Rc<str>>>,
    threads: ByEntry<Option<ThreadId>>,
    frames: FxHashMap<(u64, u64, i64), FrameId>,
    /// Classes as frames, by pool and key.
    class_frames: ByEntry<Option<FrameId>>,
    pub(super) stacks: Stacks,
    /// Keys that are in no pool.
    pub(super) unresolved: u64,
}

impl<'a> Names<'a> {
    pub(super) fn new(
        data: &'a [u8],
        compressed: bool,
        clock: Clock,
        types: &'a Types,
        pools: &'a Pools,
    ) -> Self {
        Self {
            data,
            compressed,
            clock,
            types,
            pools,
            readings: FxHashMap::default(),
            texts: ByEntry::default(),
            threads: ByEntry::default(),
            frames: FxHashMap::default(),
            class_frames: ByEntry::default(),
            stacks: Stacks::default(),
            unresolved: 0,
        }
    }

    fn entry(&mut self, class: u32, key: u64) -> Option<Bytes<'a>> {
        Some(self.whole_entry(class, key)?.0)
    }

    /// An entry of a pool, and where it ends.
    pub(super) fn whole_entry(&mut self, class: u32, key: u64) -> Option<(Bytes<'a>, usize)> {
        let found = self.pools.find(class, key);
        // Key 0 is "none" in most pools and has no entry there.
        self.unresolved += u64::from(found.is_none() && key != 0);
        let (from, to) = found?;
        Some((Bytes::new(self.data, from, self.compressed), to))
    }

    /// The name that a value refers to: a string, a class, "package.Class.method", a thread's name,
    /// a GC cause.
    #[inline]
    pub(super) fn text(&mut self, value: Value<'a>) -> Option<Name<'a>> {
        match value {
            Value::Text(text) if !matches!(text, Text::Pool(_)) => text.in_place().map(Name::InPlace),
            value => self.text_within(value, STEPS).map(Name::OfPool),
        }
    }

    fn text_within(&mut self, value: Value<'a>, steps: u32) -> Option<Rc<str>> {
        match value {
            Value::Text(Text::Pool(key)) => self.text_within(Value::Ref(self.types.strings?, key), steps),
            Value::Text(text) => Some(text.in_place()?.into()),
            Value::Ref(class, key) => {
                if let Some(known) = self.texts.get(self.pools, class, key) {
                    return known.clone();
                }
                let text = self.resolve(class, key, steps.checked_sub(1)?);
                self.texts.set(self.pools, class, key, text.clone());
                text
            }
            _ => None,
        }
    }

    fn resolve(&mut self, class: u32, key: u64, steps: u32) -> Option<Rc<str>> {
        let mut bytes = self.entry(class, key)?;
        let reading = self.reading(class);
        let mut slots = [Value::Absent; 5];
        match &*reading {
            Reading::Text(layout) => {
                layout.read(&mut bytes, &self.clock, &mut slots)?;
                self.text_within(slots[0], steps)
            }
            Reading::Class(layout) => {
                layout.read(&mut bytes, &self.clock, &mut slots)?;
                let name = self.text_within(slots[0], steps)?;
                Some(java_names::class(&name).into())
            }
            Reading::Method(layout) => {
                layout.read(&mut bytes, &self.clock, &mut slots)?;
                let class = self.text_within(slots[0], steps);
                let name = self.text_within(slots[1], steps)?;
                match class.filter(|class| !class.is_empty()) {
                    Some(class) => Some(format!("{class}.{name}").into()),
                    None => Some(name),
                }
            }
            Reading::Thread(layout) => {
                layout.read(&mut bytes, &self.clock, &mut slots)?;
                let java = self.text_within(slots[2], steps).filter(|name| !name.is_empty());
                java.or_else(|| self.text_within(slots[0], steps))
            }
            Reading::No => None,
        }
    }

    fn reading(&mut self, class: u32) -> Rc<Reading> {
        if let Some(known) = self.readings.get(&class) {
            return known.clone();
        }
        let reading = Rc::new(self.new_reading(class).unwrap_or(Reading::No));
        self.readings.insert(class, reading.clone());
        reading
    }

    fn new_reading(&self, class: u32) -> Option<Reading> {
        let layout = |wanted: &[&str]| Layout::of(self.types, class, wanted);
        let of = self.types.class(class)?;
        Some(match &*of.name {
            "java.lang.String" => Reading::Text(layout(&[""])?),
            "java.lang.Class" => Reading::Class(layout(&["name"])?),
            "jdk.types.Method" => Reading::Method(layout(&["type", "name"])?),
            "java.lang.Thread" => {
                Reading::Thread(layout(&["osName", "osThreadId", "javaName", "javaThreadId", "virtual"])?)
            }
            _ => {
                let names = |class: u64| {
                    let name = self.types.by_id(class).map(|class| &*class.name);
                    matches!(name, Some("java.lang.String" | "jdk.types.Symbol"))
                };
                let field = of.fields.iter().find(|field| names(field.class))?;
                Reading::Text(layout(&[&field.name])?)
            }
        })
    }

    /// The name of the kind of event with a numeric id.
    pub(super) fn kind_of_event(&self, id: i64) -> Option<Rc<str>> {
        Some(self.types.by_id(id as u64)?.name.as_str().into())
    }

    /// The thread that a value refers to.
    pub(super) fn thread(
        &mut self,
        value: Value<'a>,
        process: ProcessId,
        sink: &mut dyn Sink,
    ) -> Option<ThreadId> {
        let Value::Ref(class, key) = value else { return None };
        if let Some(known) = self.threads.get(self.pools, class, key) {
            return *known;
        }
        let thread = self.new_thread(class, key, process, sink);
        self.threads.set(self.pools, class, key, thread);
        thread
    }

    fn new_thread(
        &mut self,
        class: u32,
        key: u64,
        process: ProcessId,
        sink: &mut dyn Sink,
    ) -> Option<ThreadId> {
        let mut bytes = self.entry(class, key)?;
        let reading = self.reading(class);
        let Reading::Thread(layout) = &*reading else { return None };
        let mut slots = [Value::Absent; 5];
        layout.read(&mut bytes, &self.clock, &mut slots)?;
        let number = |value: Value<'_>| match value {
            Value::Integer(n) => n,
            _ => 0,
        };
        let (tid, java_id, is_virtual) = (number(slots[1]), number(slots[3]), number(slots[4]) != 0);
        let name = self.text_within(slots[2], STEPS).filter(|name| !name.is_empty());
        let name = name.or_else(|| self.text_within(slots[0], STEPS)).unwrap_or_default();
        if is_virtual && name.is_empty() {
            let is_distinguished = self.threads.len < VIRTUAL_THREADS;
            let name = if is_distinguished {
                format!("virtual thread #{java_id}")
            } else {
                "virtual thread".to_owned()
            };
            return Some(sink.thread(process, None, &name, Role::App));
        }
        // A virtual thread has the kernel's id of its carrier.
        let tid = (tid > 0 && !is_virtual).then_some(tid);
        Some(sink.thread(process, tid, &name, Role::of_named(&name, Some(java_id > 0))))
    }

    /// The frame of a class of which an object was allocated: its name as it is written in Java.
    pub(super) fn class_frame(&mut self, class: Value<'a>, sink: &mut dyn Sink) -> Option<FrameId> {
        let key = if let Value::Ref(pool, key) = class { Some((pool, key)) } else { None };
        if let Some(known) = key.and_then(|(pool, key)| self.class_frames.get(self.pools, pool, key)) {
            return *known;
        }
        let name = self.text(class).map(|name| java_names::class_as_written(&name));
        let frame = name.map(|name| sink.frame(&name, "", FrameType::Unknown, -1));
        if let Some((pool, key)) = key {
            self.class_frames.set(self.pools, pool, key, frame);
        }
        frame
    }

    /// The frame of a method, a line and a frame type.
    pub(super) fn frame(&mut self, [method, line, sort]: [Value<'a>; 3], sink: &mut dyn Sink) -> FrameId {
        let key = |value: Value<'_>| if let Value::Ref(_, key) = value { key } else { u64::MAX };
        let line = if let Value::Integer(line) = line { line } else { -1 };
        let known = (key(method), key(sort), line);
        if let Some(frame) = self.frames.get(&known) {
            return *frame;
        }
        let frame = self.new_frame([method, Value::Integer(line), sort], sink);
        self.frames.insert(known, frame);
        frame
    }

    /// Like [`Self::frame`], without caching, for callers that cache it.
    pub(super) fn new_frame(&mut self, [method, line, sort]: [Value<'a>; 3], sink: &mut dyn Sink) -> FrameId {
        let line = if let Value::Integer(line) = line { line } else { -1 };
        let sort_name = self.text(sort);
        let frame_type = frame_type(sort_name.as_deref().unwrap_or_default());
        let line = i32::try_from(line).ok().filter(|line| *line > 0).unwrap_or(-1);
        let name = self.text(method);
        let name = name.as_deref().unwrap_or("[unknown]");
        match frame_type {
            // async-profiler has the library instead of the class.
            FrameType::Native | FrameType::Jvm | FrameType::Kernel => {
                let (module, name) = self.module(method, name);
                let frame_type = match &*module {
                    "libjvm.so" => FrameType::Jvm,
                    _ if frame_type == FrameType::Jvm => FrameType::Native,
                    _ => frame_type,
                };
                let module = if frame_type == FrameType::Kernel { "kernel" } else { &*module };
                sink.frame(&java_names::native(&name), module, frame_type, -1)
            }
            _ => sink.frame(&java_names::method(name), "", frame_type, line),
        }
    }

    /// Library and function of a native method: a library's name has dots in it.
    fn module(&mut self, method: Value<'a>, whole: &str) -> (Name<'a>, String) {
        let of = |names: &mut Self| {
            let Value::Ref(class, key) = method else { return None };
            let mut bytes = names.entry(class, key)?;
            let reading = names.reading(class);
            let Reading::Method(layout) = &*reading else { return None };
            let mut slots = [Value::Absent; 5];
            layout.read(&mut bytes, &names.clock, &mut slots)?;
            let class = names.text(slots[0]).filter(|class| is_library(class))?;
            Some((class, names.text(slots[1])?.to_string()))
        };
        of(self).unwrap_or_else(|| (Name::default(), whole.to_owned()))
    }
}

/// Whether the class field holds a library: "libjvm.so", "libc.so.6", "[vdso]".
fn is_library(class: &str) -> bool {
    class.ends_with(".so") || class.contains(".so.") || class.starts_with('[') || class.starts_with("lib")
}

/// Names of the JDK (`JfrFrameType`) and of async-profiler (`FrameType`). The JDK does not
/// distinguish C1 from C2.
fn frame_type(name: &str) -> FrameType {
    match name {
        "Interpreted" => FrameType::Interpreted,
        "C1 compiled" => FrameType::C1,
        "JIT compiled" => FrameType::C2,
        "Inlined" => FrameType::Inlined,
        "Native" => FrameType::Native,
        "C++" => FrameType::Jvm,
        "Kernel" => FrameType::Kernel,
        "Stub" => FrameType::Stub,
        _ => FrameType::Unknown,
    }
}
