//! Stacks of a chunk: half of its bytes, and most of the work of reading it.
//!
//! ```text
//! bytes of a stack    top ▸ f f f f f f f f f f f f f f ◂ root
//! of one before it            g g g f f f f f f f f f f
//!                     decoded ┘     └ the same bytes up to the end: its nodes are taken over
//! ```
//!
//! A frame is some integers. Stacks of one service have most of their callers in common, so the
//! bytes of a stack are compared from its end with those of one before it; only what differs is
//! decoded and looked up.

use std::hash::{Hash, Hasher};
use std::rc::Rc;

use fathom_recording::vocabulary::frame;
use fathom_recording::{FrameId, FrameType, Sink, StackId};
use rustc_hash::FxHashMap;

use super::bytes::Bytes;
use super::layout::{Integers, Layout, Value};
use super::names::Names;

/// Frames of a stack that are kept, those nearest to what ran. JVMs cut at 64, async-profiler at
/// 2048.
const DEEPEST: usize = 4096;
/// Stacks with which a new one is compared; a power of two.
const RECENT: usize = 512;
/// How many words of eight bytes at its end a stack has in common with the one that it is compared
/// with, the most first.
const COMMON: [usize; 4] = [40, 20, 9, 3];
/// Places by which a recent stack is found, for each of those; a power of two.
const PLACES: usize = 1024;
/// How every writer that we know lays a frame out: method, line, place in its bytecode, sort.
const USUAL: (usize, [usize; 3]) = (4, [0, 1, 3]);

/// What is known of the stacks of a chunk.
#[derive(Default)]
pub(super) struct Stacks {
    known: FxHashMap<u64, Option<StackId>>,
    layouts: Option<Option<Rc<Layouts>>>,
    frames: FxHashMap<FrameKey, FrameId>,
    recent: Recent,
    /// Of the stack that is read, the top first: frames that are decoded, and how far before its
    /// end each begins.
    decoded: Vec<(FrameKey, u32)>,
    /// Of the same, the root first: how far before the end, and the node.
    path: Vec<(u32, StackId)>,
    new_frames: Vec<FrameId>,
}

/// How stacks are read.
struct Layouts {
    trace: Layout,
    frame: Layout,
    /// Of frames that are integers alone: where method, line and sort stand, and the pools of
    /// method and sort.
    integers: Option<(Integers<3>, [u32; 2])>,
}

/// What tells a frame: keys into the pools of methods and of sorts of frames.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FrameKey {
    method: u64,
    sort: u32,
    line: i32,
}

impl Hash for FrameKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.method);
        state.write_u64(u64::from(self.sort) << 32 | u64::from(self.line as u32));
    }
}

/// A stack that was read.
#[derive(Clone, Default)]
struct Seen {
    /// Where its frames begin and end.
    from: usize,
    to: usize,
    truncated: bool,
    /// Root first: how far before the end each frame begins, and its node.
    nodes: Vec<(u32, StackId)>,
}

/// The stacks read last.
struct Recent {
    seen: Vec<Seen>,
    next: usize,
    /// By their last bytes: which of them.
    places: Vec<u16>,
}

impl Default for Recent {
    fn default() -> Self {
        Self { seen: Vec::new(), next: 0, places: vec![u16::MAX; COMMON.len() * PLACES] }
    }
}

impl Recent {
    /// A stack with the same last bytes as the one at these, and how many bytes from the end are
    /// the same.
    fn like(&self, data: &[u8], frames: &Frames, of: &Places) -> Option<(&Seen, usize)> {
        let truncated = frames.truncated;
        let frames = data.get(frames.from..frames.to)?;
        of.iter().flatten().find_map(|place| {
            let seen = self.seen.get(usize::from(*self.places.get(*place)?))?;
            let same = same_at_the_end(frames, data.get(seen.from..seen.to)?);
            (seen.truncated == truncated && same > 0).then_some((seen, same))
        })
    }

    /// Room for another stack, which is found by its last bytes from now on.
    fn add(&mut self, of: &Places) -> &mut Seen {
        let at = self.next % RECENT;
        self.next += 1;
        if at == self.seen.len() {
            self.seen.push(Seen::default());
        }
        for place in of.iter().flatten() {
            if let Some(known) = self.places.get_mut(*place) {
                *known = at as u16;
            }
        }
        let seen = &mut self.seen[at];
        seen.nodes.clear();
        seen
    }

    /// The one that was added last.
    fn latest(&mut self) -> Option<&mut Seen> {
        self.seen.get_mut(self.next.checked_sub(1)? % RECENT)
    }
}

/// Where a stack is looked for and kept, by each of [`COMMON`] that it is long enough for.
type Places = [Option<usize>; COMMON.len()];

fn places(frames: &[u8]) -> Places {
    let mut places = [None; COMMON.len()];
    let mut hash = 0u64;
    for (i, word) in frames.rchunks_exact(8).enumerate() {
        let word = word.try_into().map_or(0, u64::from_le_bytes);
        hash = (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if let Some(which) = COMMON.iter().position(|words| *words == i + 1) {
            places[which] = Some(which * PLACES + (hash >> 40) as usize % PLACES);
            if which == 0 {
                break;
            }
        }
    }
    places
}

/// How many bytes are the same, from the end.
fn same_at_the_end(a: &[u8], b: &[u8]) -> usize {
    let mut same = 0;
    for (a, b) in a.rchunks_exact(8).zip(b.rchunks_exact(8)) {
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
        let differs = word(a) ^ word(b);
        if differs != 0 {
            return same + differs.leading_zeros() as usize / 8;
        }
        same += 8;
    }
    let rest = |bytes: &[u8]| bytes.len() - same;
    let (a, b) = (a.get(..rest(a)).unwrap_or_default(), b.get(..rest(b)).unwrap_or_default());
    same + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

/// Where the frames of a stack lie, and how many they are.
#[derive(Clone, Copy)]
struct Frames {
    from: usize,
    to: usize,
    count: usize,
    truncated: bool,
}

impl Stacks {
    /// Goes from the root of a stack as far as its bytes are those of a recent one: those nodes are
    /// in `path` then, and the frames that are left are decoded. `None`: it cannot be read so.
    fn follow(&mut self, mut bytes: Bytes<'_>, fields: &Integers<3>, frames: &Frames) -> Option<()> {
        let of = places(bytes.data.get(frames.from..frames.to)?);
        self.path.clear();
        if let Some((seen, same)) = self.recent.like(bytes.data, frames, &of) {
            let shared = seen.nodes.partition_point(|(back, _)| *back as usize <= same).min(frames.count);
            self.path.extend_from_slice(seen.nodes.get(..shared)?);
        }
        let decode = |me: &mut Self, bytes: &mut Bytes<'_>| {
            me.decoded.clear();
            bytes.at = frames.from;
            for _ in me.path.len()..frames.count {
                let back = u32::try_from(frames.to.checked_sub(bytes.at)?).ok()?;
                me.decoded.push((FrameKey::read(bytes, fields)?, back));
            }
            let shared = me.path.last().map_or(0, |(back, _)| *back as usize);
            (bytes.at + shared == frames.to).then_some(())
        };
        // Bytes that are the same may still be divided into other frames: then those above do not
        // end where they begin.
        if decode(self, &mut bytes).is_none() {
            self.path.clear();
            decode(self, &mut bytes)?;
        }
        let seen = self.recent.add(&of);
        (seen.from, seen.to, seen.truncated) = (frames.from, frames.to, frames.truncated);
        Some(())
    }

    /// Adds the nodes of the frames that were decoded, the top first, and keeps the stack to be
    /// compared with. Gives its node.
    fn grow(&mut self, truncated: bool, sink: &mut dyn Sink) -> Option<StackId> {
        let mut stack = match self.path.last() {
            Some((_, node)) => Some(*node),
            None => truncated.then(|| cut_node(sink)),
        };
        for (frame, (_, back)) in self.new_frames.iter().zip(&self.decoded).rev() {
            let node = sink.stack(stack, *frame);
            self.path.push((*back, node));
            stack = Some(node);
        }
        std::mem::swap(&mut self.recent.latest()?.nodes, &mut self.path);
        stack
    }
}

impl FrameKey {
    #[inline]
    fn read(bytes: &mut Bytes<'_>, fields: &Integers<3>) -> Option<Self> {
        let mut read = [0; 3];
        if (fields.each, fields.places) == USUAL {
            let (method, line, _bytecode) = (bytes.long()?, bytes.long()?, bytes.long()?);
            read = [method, line, bytes.long()?];
        } else {
            for at in 0..fields.each {
                let integer = bytes.long()?;
                for (read, place) in read.iter_mut().zip(fields.places) {
                    if place == at {
                        *read = integer;
                    }
                }
            }
        }
        let [method, line, sort] = read;
        Some(Self { method, sort: u32::try_from(sort).ok()?, line: line as i32 })
    }
}

/// The node that stands for callers that were cut off.
fn cut_node(sink: &mut dyn Sink) -> StackId {
    let cut = sink.frame(&frame::cut("depth"), "", FrameType::Unknown, -1);
    sink.stack(None, cut)
}

impl<'a> Names<'a> {
    /// The stack that a value names.
    pub(super) fn stack(&mut self, value: Value<'a>, sink: &mut dyn Sink) -> Option<StackId> {
        let Value::Ref(class, key) = value else { return None };
        if key == 0 {
            return None;
        }
        if let Some(known) = self.stacks.known.get(&key) {
            return *known;
        }
        let stack = self.new_stack(class, key, sink);
        self.stacks.known.insert(key, stack);
        stack
    }

    fn new_stack(&mut self, class: u32, key: u64, sink: &mut dyn Sink) -> Option<StackId> {
        let (mut bytes, end) = self.whole_entry(class, key)?;
        let layouts = self.stack_layouts(class)?;
        let mut slots = [Value::Absent; 2];
        if let Some((fields, pools)) = &layouts.integers {
            let mut bytes = bytes;
            let count = layouts.trace.read_up_to_array(&mut bytes, &self.clock, &mut slots);
            let truncated = matches!(slots[0], Value::Integer(n) if n != 0);
            if let Some(count) = count.filter(|count| (1..=DEEPEST).contains(count)) {
                let frames = Frames { from: bytes.at, to: end, count, truncated };
                if self.stacks.follow(bytes, fields, &frames).is_some() {
                    return self.grow(*pools, truncated, sink);
                }
            }
        }
        // A damaged one, or one that is laid out in another way: what can be read of it.
        layouts.trace.read(&mut bytes, &self.clock, &mut slots)?;
        let Value::Many(at, count) = slots[1] else { return None };
        let truncated = matches!(slots[0], Value::Integer(n) if n != 0);
        let mut bytes = Bytes { at, ..bytes };
        let mut frames = Vec::with_capacity(count.min(DEEPEST));
        for _ in 0..count.min(DEEPEST) {
            let mut slots = [Value::Absent; 3];
            layouts.frame.pass(&mut bytes, &self.clock, &mut slots)?;
            frames.push(self.frame(slots, sink));
        }
        let mut stack = (truncated || count > DEEPEST).then(|| cut_node(sink));
        for frame in frames.into_iter().rev() {
            stack = Some(sink.stack(stack, frame));
        }
        stack
    }

    /// The node of the stack that was followed last.
    fn grow(&mut self, [methods, sorts]: [u32; 2], truncated: bool, sink: &mut dyn Sink) -> Option<StackId> {
        self.stacks.new_frames.clear();
        for at in 0..self.stacks.decoded.len() {
            let (key, _) = *self.stacks.decoded.get(at)?;
            let frame = match self.stacks.frames.get(&key) {
                Some(known) => *known,
                None => {
                    let FrameKey { method, sort, line } = key;
                    let line = Value::Integer(i64::from(line));
                    let slots = [Value::Ref(methods, method), line, Value::Ref(sorts, u64::from(sort))];
                    let frame = self.new_frame(slots, sink);
                    self.stacks.frames.insert(key, frame);
                    frame
                }
            };
            self.stacks.new_frames.push(frame);
        }
        self.stacks.grow(truncated, sink)
    }

    fn stack_layouts(&mut self, class: u32) -> Option<Rc<Layouts>> {
        if let Some(known) = &self.stacks.layouts {
            return known.clone();
        }
        let made = self.new_stack_layouts(class).map(Rc::new);
        self.stacks.layouts = Some(made.clone());
        made
    }

    fn new_stack_layouts(&self, class: u32) -> Option<Layouts> {
        let frames = self.types.class(class)?.fields.iter().find(|f| f.name == "frames")?;
        // No writer that we know keeps frames in a pool of their own.
        let frame = self.types.index(frames.class).filter(|_| !frames.pool)?;
        let trace = Layout::of(self.types, class, &["truncated", "frames"])?;
        let frame = Layout::of(self.types, frame, &["method", "lineNumber", "type"])?;
        let of_integers = |fields| {
            let pools = [frame.pool_of(0)?, frame.pool_of(2)?];
            Some((fields, pools))
        };
        // Whoever has read the stack stands behind its frames.
        let integers =
            frame.integers().filter(|_| self.compressed && trace.ends_with(1)).and_then(of_integers);
        Some(Layouts { trace, frame, integers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bytes_at_the_end_are_counted_one_by_one() {
        let a: Vec<u8> = (0..50).collect();
        for n in 0..a.len() {
            let mut b = a.clone();
            b[n] ^= 1;
            assert_eq!(same_at_the_end(&a, &b), a.len() - n - 1);
            assert_eq!(same_at_the_end(&a, &a[n..]), a.len() - n);
            assert_eq!(same_at_the_end(&a[n..], &b), a.len() - n - 1);
        }
    }
}
