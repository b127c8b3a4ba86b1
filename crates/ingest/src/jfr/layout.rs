//! How the values of a type lie in a chunk: its fields as a flat list of steps, some of which are
//! kept.
//!
//! A layout is made once per type and chunk and then followed for each event, without another look
//! at names. Nested types become part of the list; fields that are not needed are merged into as
//! few steps as possible, and what follows the last field that is needed is not read at all.

use super::bytes::{Bytes, Text};
use super::metadata::{Types, Unit};

/// The deepest nesting of types: an event, a heap space in it, its sizes.
const DEPTH: u32 = 6;
/// The most steps of one layout. The longest legitimate one (`jdk.CPUInformation` and the like) has
/// some thirty.
const MOST: usize = 512;

/// The encoding of a primitive.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Prim {
    Byte,
    /// An integer of this many bits, and whether it has a sign.
    Integer(u8, bool),
    Float,
    Double,
    Text,
    /// A key into the constant pool of the type with this index.
    Ref(u32),
}

/// A step of a layout.
#[derive(Debug)]
enum Step {
    /// Reads a value, into a slot if it is needed.
    One(Prim, Option<usize>, Unit),
    /// Skips integers that are not needed.
    Integers(Run),
    /// Skips this many bytes.
    Bytes(usize),
    /// An array: the layout of an element, and the slot if it is needed.
    Many(Vec<Step>, Option<usize>),
}

/// Integers in sequence.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    count: usize,
    /// Their total size where integers are not compressed.
    bytes: usize,
}

/// The positions of the fields of a type that consists of integers alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Integers<const N: usize> {
    /// How many integers one value has.
    pub(super) each: usize,
    /// For each field that is needed: its index among them.
    pub(super) places: [usize; N],
}

/// A value of a field.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Value<'a> {
    /// The type has no such field.
    #[default]
    Absent,
    /// An integer; a time (nanoseconds since the epoch) or a duration (nanoseconds) according to
    /// the field's unit.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// A string.
    Text(Text<'a>),
    /// A key into the constant pool of the type with this index.
    Ref(u32, u64),
    /// An array: where its elements begin, and how many they are.
    Many(usize, usize),
}

/// Turns ticks into nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Nanoseconds since the epoch at the start of the chunk.
    pub(super) start_ns: i64,
    /// The same time in ticks.
    pub(super) start_ticks: i64,
    /// Nanoseconds per tick.
    pub(super) tick_ns: f64,
}

impl Clock {
    /// The time of a timestamp, nanoseconds since the epoch.
    fn time(&self, ticks: i64) -> i64 {
        self.start_ns.saturating_add(self.span(ticks.saturating_sub(self.start_ticks)))
    }

    /// A duration, nanoseconds. The JVM marks "for ever" and "none" by the largest and smallest
    /// integers.
    fn span(&self, ticks: i64) -> i64 {
        if ticks == i64::MIN || ticks == i64::MAX { ticks } else { (ticks as f64 * self.tick_ns) as i64 }
    }
}

/// The layout of a type.
#[derive(Debug)]
pub(super) struct Layout {
    steps: Vec<Step>,
    /// How many of the steps have to be taken when the end of the value is not needed.
    needed: usize,
}

impl Layout {
    /// The layout of the type at `class`, with the fields named in `wanted`
    /// ("heapSpace.committedSize" for one of a nested type) in slots of the same order. `None`: the
    /// chunk does not describe the type fully, or nests it without end.
    pub(super) fn of(types: &Types, class: u32, wanted: &[&str]) -> Option<Self> {
        let mut left = MOST;
        let steps = if types.class(class)?.name == "java.lang.String" {
            vec![Step::One(Prim::Text, wanted.iter().position(|w| w.is_empty()), Unit::None)]
        } else {
            compact(fields(types, class, "", wanted, DEPTH, &mut left)?)
        };
        let kept = |step: &Step| matches!(step, Step::One(_, Some(_), _) | Step::Many(_, Some(_)));
        let needed = steps.iter().rposition(kept).map_or(0, |last| last + 1);
        Some(Self { steps, needed })
    }

    /// Reads a value up to the last field that is needed. `None`: it is truncated or damaged.
    #[inline]
    pub(super) fn read<'a>(
        &self,
        bytes: &mut Bytes<'a>,
        clock: &Clock,
        slots: &mut [Value<'a>],
    ) -> Option<()> {
        follow(self.steps.get(..self.needed)?, bytes, clock, slots)
    }

    /// The positions of the needed fields, for a type that has them all and consists of integers
    /// alone.
    pub(super) fn integers<const N: usize>(&self) -> Option<Integers<N>> {
        let (mut each, mut places) = (0, [None; N]);
        for step in &self.steps {
            match step {
                Step::One(Prim::Ref(_) | Prim::Integer(32, true), Some(slot), Unit::None) => {
                    *places.get_mut(*slot)? = Some(each);
                    each += 1;
                }
                Step::Integers(run) => each += run.count,
                _ => return None,
            }
        }
        let mut found = [0; N];
        for (found, place) in found.iter_mut().zip(places) {
            *found = place?;
        }
        Some(Integers { each, places: found })
    }

    /// Whether the type ends with the array of a slot.
    pub(super) fn ends_with(&self, slot: usize) -> bool {
        matches!(self.steps.last(), Some(Step::Many(_, Some(of))) if *of == slot)
    }

    /// Reads a value that [ends with](Self::ends_with) an array, up to the first element of that;
    /// returns the number of elements.
    pub(super) fn read_up_to_array<'a>(
        &self,
        bytes: &mut Bytes<'a>,
        clock: &Clock,
        slots: &mut [Value<'a>],
    ) -> Option<usize> {
        let before = self.steps.split_last()?.1;
        follow(before, bytes, clock, slots)?;
        bytes.length()
    }

    /// The type into whose constant pool a field refers, by its slot.
    pub(super) fn pool_of(&self, slot: usize) -> Option<u32> {
        self.steps.iter().find_map(|step| match step {
            Step::One(Prim::Ref(class), Some(of), _) if *of == slot => Some(*class),
            _ => None,
        })
    }

    /// Reads a whole value, to continue after it.
    pub(super) fn pass<'a>(
        &self,
        bytes: &mut Bytes<'a>,
        clock: &Clock,
        slots: &mut [Value<'a>],
    ) -> Option<()> {
        follow(&self.steps, bytes, clock, slots)
    }
}

fn fields(
    types: &Types,
    class: u32,
    prefix: &str,
    wanted: &[&str],
    depth: u32,
    left: &mut usize,
) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    for field in &types.class(class)?.fields {
        *left = left.checked_sub(1)?;
        let is = |w: &&str| w.strip_prefix(prefix) == Some(&*field.name);
        let slot = wanted.iter().position(is);
        let of = types.index(field.class)?;
        let inner = |prefix: &str, wanted: &[&str], left: &mut usize| match primitive(&types.class(of)?.name)
        {
            _ if field.pool => Some(vec![Step::One(Prim::Ref(of), slot, Unit::None)]),
            Some(prim) => Some(vec![Step::One(prim, slot, field.unit)]),
            None => fields(types, of, prefix, wanted, depth.checked_sub(1)?, left),
        };
        if field.array {
            let mut element = inner("", &[], left)?;
            for step in &mut element {
                if let Step::One(_, slot, _) = step {
                    *slot = None;
                }
            }
            steps.push(Step::Many(element, slot));
        } else {
            steps.extend(inner(&format!("{prefix}{}.", field.name), wanted, left)?);
        }
    }
    Some(steps)
}

/// Merges what is not needed into as few steps as possible.
fn compact(steps: Vec<Step>) -> Vec<Step> {
    let mut joined: Vec<Step> = Vec::with_capacity(steps.len());
    for step in steps {
        let run = |bytes| Step::Integers(Run { count: 1, bytes });
        let step = match step {
            Step::One(Prim::Integer(64, _) | Prim::Ref(_), None, _) => run(8),
            Step::One(Prim::Integer(32, _), None, _) => run(4),
            Step::One(Prim::Integer(..), None, _) => run(2),
            Step::One(Prim::Byte, None, _) => Step::Bytes(1),
            Step::One(Prim::Float, None, _) => Step::Bytes(4),
            Step::One(Prim::Double, None, _) => Step::Bytes(8),
            Step::Many(element, slot) => Step::Many(compact(element), slot),
            step => step,
        };
        match (joined.last_mut(), &step) {
            (Some(Step::Integers(run)), Step::Integers(more)) => {
                *run = Run { count: run.count + more.count, bytes: run.bytes + more.bytes };
            }
            (Some(Step::Bytes(bytes)), Step::Bytes(more)) => *bytes += more,
            _ => joined.push(step),
        }
    }
    joined
}

fn primitive(class: &str) -> Option<Prim> {
    Some(match class {
        "boolean" | "byte" => Prim::Byte,
        "char" => Prim::Integer(16, false),
        "short" => Prim::Integer(16, true),
        "int" => Prim::Integer(32, true),
        "long" => Prim::Integer(64, true),
        "float" => Prim::Float,
        "double" => Prim::Double,
        "java.lang.String" => Prim::Text,
        _ => return None,
    })
}

fn follow<'a>(steps: &[Step], bytes: &mut Bytes<'a>, clock: &Clock, slots: &mut [Value<'a>]) -> Option<()> {
    for step in steps {
        match step {
            Step::One(Prim::Ref(class), Some(slot), _) => {
                let key = bytes.long()?;
                if let Some(kept) = slots.get_mut(*slot) {
                    *kept = Value::Ref(*class, key);
                }
            }
            Step::One(Prim::Integer(64, _), Some(slot), unit) => {
                let integer = bytes.long()? as i64;
                if let Some(kept) = slots.get_mut(*slot) {
                    *kept = Value::Integer(converted(integer, *unit, clock));
                }
            }
            Step::One(prim, slot, unit) => {
                let value = one(*prim, bytes)?;
                if let Some(kept) = slot.and_then(|slot| slots.get_mut(slot)) {
                    *kept = in_unit(value, *unit, clock);
                }
            }
            Step::Integers(run) => pass_over(bytes, *run, 1)?,
            Step::Bytes(count) => bytes.pass(*count)?,
            Step::Many(element, slot) => {
                let count = bytes.length()?;
                let from = bytes.at;
                match element.as_slice() {
                    // Elements without any field take no bytes: there is nothing to skip.
                    [] => {}
                    [Step::Integers(run)] => pass_over(bytes, *run, count)?,
                    element => {
                        for _ in 0..count {
                            follow(element, bytes, clock, &mut [])?;
                        }
                    }
                }
                if let Some(kept) = slot.and_then(|slot| slots.get_mut(slot)) {
                    *kept = Value::Many(from, count);
                }
            }
        }
    }
    Some(())
}

/// Skips `times` runs of integers.
#[inline]
fn pass_over(bytes: &mut Bytes<'_>, run: Run, times: usize) -> Option<()> {
    if bytes.compressed {
        return bytes.skip_varints(run.count.checked_mul(times)?);
    }
    bytes.pass(run.bytes.checked_mul(times)?)
}

#[inline]
fn one<'a>(prim: Prim, bytes: &mut Bytes<'a>) -> Option<Value<'a>> {
    Some(match prim {
        Prim::Byte => Value::Integer(i64::from(bytes.u8()?)),
        Prim::Integer(64, _) => Value::Integer(bytes.integer(8)? as i64),
        Prim::Integer(32, _) => Value::Integer(i64::from(bytes.integer(4)? as i32)),
        Prim::Integer(_, true) => Value::Integer(i64::from(bytes.integer(2)? as i16)),
        Prim::Integer(_, false) => Value::Integer(i64::from(bytes.integer(2)? as u16)),
        Prim::Float => Value::Real(bytes.float()?),
        Prim::Double => Value::Real(bytes.double()?),
        Prim::Text => Value::Text(bytes.text()?),
        Prim::Ref(class) => Value::Ref(class, bytes.long()?),
    })
}

fn in_unit<'a>(value: Value<'a>, unit: Unit, clock: &Clock) -> Value<'a> {
    let Value::Integer(n) = value else { return value };
    Value::Integer(converted(n, unit, clock))
}

#[inline]
fn converted(n: i64, unit: Unit, clock: &Clock) -> i64 {
    match unit {
        Unit::None => n,
        Unit::TickStamp => clock.time(n),
        Unit::TickSpan => clock.span(n),
        Unit::Nanos(ns) => n.saturating_mul(ns),
    }
}
