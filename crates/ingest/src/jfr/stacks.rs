//! Stacks of a chunk: half of its bytes, and most of the work of reading it.
//!
//! ```text
//! bytes of a stack    top ▸ f f f f f f f f f f f f f f ◂ root
//! of an earlier one           g g g f f f f f f f f f f
//!                     decoded ┘     └ the same bytes up to the end: its nodes are reused
//! ```
//!
//! A frame is some integers. Stacks of one service have most of their callers in common, so the
//! bytes of a stack are compared from its end with those of one before it; only what differs is
//! decoded and looked up.

use std::rc::Rc;

use fathom_recording::vocabulary::frame;
use fathom_recording::{FrameId, FrameType, Sink, StackId};
use rustc_hash::FxHashMap;

use super::bytes::Bytes;
use super::frames::{FrameKey, Frames, NO_ID};
use super::layout::{Integers, Layout, Value};
use super::names::Names;

/// Frames of a stack that are kept, the innermost ones. JVMs truncate at 64, async-profiler at
/// 2048.
const DEEPEST: usize = 4096;
/// Stacks with which a new one is compared; a power of two.
const RECENT: usize = 512;
/// How many words of eight bytes at its end a stack may have in common with an earlier one, the
/// most first.
const COMMON: [usize; 4] = [40, 20, 9, 3];
/// Slots by which a recent stack is found, for each of those; a power of two.
const PLACES: usize = 1024;
/// An odd number by which the bits of words are spread over slots.
const SCATTER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The stacks of a chunk so far.
#[derive(Default)]
pub(super) struct Stacks {
    /// Of the pool of stacks, by the numbers of its entries.
    known: Vec<Known>,
    /// The pool of stacks. No writer that we know has two.
    pool: Option<u32>,
    /// By pool and key, for keys that have no number there.
    others: FxHashMap<(u32, u64), Option<StackId>>,
    layouts: Option<Option<Rc<Layouts>>>,
    frames: Frames,
    ids: FxHashMap<FrameKey, FrameId>,
    recent: Recent,
    /// For the current stack, the top first: the numbers of its decoded frames, and the distance of
    /// each from its end.
    decoded: Vec<(u32, u32)>,
    /// Its nodes.
    path: Path,
    /// The ids of the decoded frames, the one next to the root first.
    new_frames: Vec<FrameId>,
}

/// The state of an entry of the pool of stacks.
#[derive(Clone, Copy)]
enum Known {
    /// Not looked at yet.
    NotYet,
    /// Its node, if it can be read.
    Read(Option<StackId>),
}

/// How stacks are decoded.
struct Layouts {
    trace: Layout,
    frame: Layout,
    /// For frames that are integers alone: the positions of method, line and frame type, and the
    /// pools of method and type.
    integers: Option<(Integers<3>, [u32; 2])>,
}

/// The nodes of a stack, the root first.
#[derive(Clone, Default)]
struct Path {
    /// The distance of each frame from the end.
    back: Vec<u32>,
    nodes: Vec<StackId>,
}

/// A stack that was read.
#[derive(Clone, Default)]
struct Seen {
    /// Where its frames begin and end.
    from: usize,
    to: usize,
    truncated: bool,
    path: Path,
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
    /// A stack with the same last bytes as the one at this position, and how many bytes from the
    /// end are the same.
    fn like(&self, data: &[u8], frames: &Extent, of: &Places) -> Option<(&Seen, usize)> {
        let truncated = frames.truncated;
        let frames = data.get(frames.from..frames.to)?;
        of.iter().flatten().find_map(|place| {
            let seen = self.seen.get(usize::from(*self.places.get(*place)?))?;
            let same = same_at_the_end(frames, data.get(seen.from..seen.to)?);
            (seen.truncated == truncated && same > 0).then_some((seen, same))
        })
    }

    /// A slot for another stack, which is found by its last bytes from now on.
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
        &mut self.seen[at]
    }

    /// The one that was added last.
    fn latest(&mut self) -> Option<&mut Seen> {
        self.seen.get_mut(self.next.checked_sub(1)? % RECENT)
    }
}

/// The slots in which a stack is looked up and kept, for each of [`COMMON`] that it is long enough
/// for.
type Places = [Option<usize>; COMMON.len()];

fn places(frames: &[u8]) -> Places {
    let mut places = [None; COMMON.len()];
    let mut words = frames.as_rchunks::<8>().1.iter().rev();
    let (mut hash, mut done) = (0u64, 0);
    for (which, common) in COMMON.into_iter().enumerate().rev() {
        if words.len() < common - done {
            break;
        }
        for word in words.by_ref().take(common - done) {
            hash = hash.rotate_left(5) ^ u64::from_le_bytes(*word).wrapping_mul(SCATTER);
        }
        done = common;
        let place = (hash.wrapping_mul(SCATTER) >> 40) as usize % PLACES;
        places[which] = Some(which * PLACES + place);
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

/// The position of the frames of a stack, and their number.
#[derive(Clone, Copy)]
struct Extent {
    from: usize,
    to: usize,
    count: usize,
    truncated: bool,
}

impl Stacks {
    /// Walks from the root of a stack as far as its bytes are those of a recent one: those nodes
    /// are in `path` then, and the remaining frames are decoded. `None`: it cannot be read this
    /// way.
    fn follow(&mut self, mut bytes: Bytes<'_>, fields: &Integers<3>, frames: &Extent) -> Option<()> {
        let of = places(bytes.data.get(frames.from..frames.to)?);
        let (mut shared, mut shared_bytes) = (0, 0);
        self.path.clear();
        if let Some((seen, same)) = self.recent.like(bytes.data, frames, &of) {
            shared = seen.path.back.partition_point(|back| *back as usize <= same).min(frames.count);
            self.path.take_over(&seen.path, shared)?;
            shared_bytes = self.path.back.last().map_or(0, |back| *back as usize);
        }
        // Equal bytes may still be divided into other frames: then the frames above do not end
        // where they begin.
        let above = self.decode(&mut bytes, fields, frames, frames.count - shared);
        if above.is_none_or(|end| end + shared_bytes != frames.to) {
            self.path.clear();
            self.decode(&mut bytes, fields, frames, frames.count).filter(|end| *end == frames.to)?;
        }
        let seen = self.recent.add(&of);
        (seen.from, seen.to, seen.truncated) = (frames.from, frames.to, frames.truncated);
        Some(())
    }

    /// Decodes this many frames of a stack from its top. Returns where the last of them ends.
    fn decode(
        &mut self,
        bytes: &mut Bytes<'_>,
        fields: &Integers<3>,
        frames: &Extent,
        count: usize,
    ) -> Option<usize> {
        let Self { decoded, frames: known, .. } = self;
        decoded.clear();
        decoded.resize(count, (0, 0));
        known.begin();
        bytes.at = frames.from;
        for frame in decoded.iter_mut() {
            let back = u32::try_from(frames.to.checked_sub(bytes.at)?).ok()?;
            *frame = (known.next(bytes, fields)?, back);
        }
        Some(bytes.at)
    }

    /// Adds the nodes of the decoded frames and keeps the stack for comparison. Returns its node.
    fn grow(&mut self, truncated: bool, sink: &mut dyn Sink) -> Option<StackId> {
        let caller = match self.path.nodes.last() {
            Some(node) => Some(*node),
            None => truncated.then(|| truncated_node(sink)),
        };
        self.path.back.extend(self.decoded.iter().rev().map(|(_, back)| *back));
        sink.path(caller, &self.new_frames, &mut self.path.nodes);
        let stack = self.path.nodes.last().copied();
        std::mem::swap(&mut self.recent.latest()?.path, &mut self.path);
        stack
    }
}

impl Path {
    fn clear(&mut self) {
        self.back.clear();
        self.nodes.clear();
    }

    /// Reuses this many nodes of another stack.
    fn take_over(&mut self, other: &Self, nodes: usize) -> Option<()> {
        self.back.extend_from_slice(other.back.get(..nodes)?);
        self.nodes.extend_from_slice(other.nodes.get(..nodes)?);
        Some(())
    }
}

/// The node that represents truncated callers.
fn truncated_node(sink: &mut dyn Sink) -> StackId {
    let truncated = sink.frame(&frame::cut("depth"), "", FrameType::Unknown, -1);
    sink.stack(None, truncated)
}

impl<'a> Names<'a> {
    /// The stack that a value names.
    pub(super) fn stack(&mut self, value: Value<'a>, sink: &mut dyn Sink) -> Option<StackId> {
        let Value::Ref(class, key) = value else { return None };
        if key == 0 {
            return None;
        }
        let pool = *self.stacks.pool.get_or_insert(class);
        let Some(number) = self.pools.number(class, key).filter(|_| class == pool) else {
            return self.other_stack(class, key, sink);
        };
        match self.stacks.known.get(number) {
            Some(Known::Read(stack)) => return *stack,
            Some(Known::NotYet) => {}
            None => self.stacks.known.resize(self.pools.len(class), Known::NotYet),
        }
        let stack = self.new_stack(class, key, sink);
        if let Some(known) = self.stacks.known.get_mut(number) {
            *known = Known::Read(stack);
        }
        stack
    }

    #[cold]
    fn other_stack(&mut self, class: u32, key: u64, sink: &mut dyn Sink) -> Option<StackId> {
        if let Some(known) = self.stacks.others.get(&(class, key)) {
            return *known;
        }
        let stack = self.new_stack(class, key, sink);
        self.stacks.others.insert((class, key), stack);
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
                let frames = Extent { from: bytes.at, to: end, count, truncated };
                if self.stacks.follow(bytes, fields, &frames).is_some() {
                    return self.grow(*pools, truncated, sink);
                }
            }
        }
        // A damaged one, or one with another layout: reads what can be read.
        layouts.trace.read(&mut bytes, &self.clock, &mut slots)?;
        let Value::Many(at, count) = slots[1] else { return None };
        let truncated = matches!(slots[0], Value::Integer(n) if n != 0);
        bytes.at = at;
        let mut frames = Vec::with_capacity(count.min(DEEPEST));
        for _ in 0..count.min(DEEPEST) {
            let mut slots = [Value::Absent; 3];
            layouts.frame.pass(&mut bytes, &self.clock, &mut slots)?;
            frames.push(self.frame(slots, sink));
        }
        let mut stack = (truncated || count > DEEPEST).then(|| truncated_node(sink));
        for frame in frames.into_iter().rev() {
            stack = Some(sink.stack(stack, frame));
        }
        stack
    }

    /// The node of the stack that was decoded last.
    fn grow(&mut self, pools: [u32; 2], truncated: bool, sink: &mut dyn Sink) -> Option<StackId> {
        let Stacks { decoded, frames, new_frames, .. } = &mut self.stacks;
        new_frames.clear();
        new_frames.extend(decoded.iter().rev().map(|(number, _)| frames.id(*number)));
        if new_frames.contains(&NO_ID) {
            self.name_frames(pools, sink)?;
        }
        self.stacks.grow(truncated, sink)
    }

    /// Finds the ids of those frames of the stack that was decoded last that are needed for the
    /// first time.
    #[cold]
    fn name_frames(&mut self, pools: [u32; 2], sink: &mut dyn Sink) -> Option<()> {
        for at in 0..self.stacks.decoded.len() {
            let number = self.stacks.decoded.get(at)?.0;
            let id = match self.stacks.frames.id(number) {
                NO_ID => self.new_frame_of(number, self.stacks.frames.get(number)?, pools, sink),
                id => id,
            };
            *self.stacks.new_frames.iter_mut().nth_back(at)? = id;
        }
        Some(())
    }

    /// The id in the recording of a frame that is needed for the first time.
    fn new_frame_of(
        &mut self,
        number: u32,
        key: FrameKey,
        [methods, sorts]: [u32; 2],
        sink: &mut dyn Sink,
    ) -> FrameId {
        let FrameKey { method, sort, line } = key;
        // The bytes also distinguish frames that differ in their bytecode index only.
        let known = self.stacks.ids.get(&key).copied();
        let id = known.unwrap_or_else(|| {
            let line = Value::Integer(i64::from(line));
            self.new_frame([Value::Ref(methods, method), line, Value::Ref(sorts, u64::from(sort))], sink)
        });
        self.stacks.ids.insert(key, id);
        self.stacks.frames.resolve(number, id);
        id
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
        // The position after the frames of a stack.
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
