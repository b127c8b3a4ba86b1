//! What the agent says, line by line: a word and fields between tabs. The writer is
//! `jvmagent/src/main/java/org/fathom/calls/Session.java`.
//!
//! The JVM is not trusted: a line that is not understood is counted and left out, and all lists are
//! bounded.

use crate::methods::{CallsOf, SlowCall, Times};

/// Longest line: buckets of a caller take some 10 KB.
pub(super) const LONGEST_LINE: usize = 1 << 16;
/// Rows of a method that are kept: threads and callers.
const MOST_ROWS: usize = 1 << 16;
/// Methods: as many as the agent counts.
const MOST_METHODS: usize = 256;
/// Frames of a slow call: as many as the agent keeps.
const MOST_FRAMES: usize = 64;
/// Slow calls that are kept.
const MOST_SLOW: usize = 4096;

/// One method as the agent has counted it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Method {
    pub name: String,
    /// Its bytecode counts no more: it was called too often.
    pub is_hot: bool,
    /// By thread: its number in Java, its name, calls.
    pub threads: Vec<(i64, String, u64)>,
    /// By caller: name, calls that it stands for, calls of it that were seen, how long those took.
    pub callers: Vec<(String, u64, u64, Times)>,
    /// Calls that ended by an exception.
    pub thrown: u64,
    /// Calls for whose caller nobody stands.
    pub unknown: u64,
    /// How long all calls took.
    pub times: Times,
}

/// All that the agent said in one answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counted {
    pub methods: Vec<Method>,
    pub left_out: u64,
    pub slow_left_out: u64,
}

/// Something that it says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// It is there: version of these lines, and its clock.
    Hello { protocol: u32 },
    /// All that is loaded was looked at, in so many nanoseconds, of so many classes.
    Ready { ns: u64, classes: u64 },
    /// A method was let go of at so many calls a second of all.
    Hot { method: String, calls_per_s: u64 },
    /// A class or method cannot be counted.
    Refused { what: String, why: String },
    /// It gives up.
    Failed { why: String },
    /// All classes are as they were.
    Over,
}

/// Takes bytes as they come, and gives what they say.
#[derive(Debug, Default)]
pub(super) struct Wire {
    /// The line that is not whole yet.
    line: Vec<u8>,
    /// The rest of a line that is too long is dropped.
    too_long: bool,
    draft: Counted,
    /// The last answer that was whole.
    pub counted: Counted,
    /// How many were.
    pub answers: u64,
    pub words: Vec<Word>,
    pub slow: Vec<SlowCall>,
    /// Lines that were not understood.
    pub strange: u64,
}

impl Wire {
    pub fn take(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_whole = part.last() == Some(&b'\n');
            if self.line.len() + part.len() > LONGEST_LINE {
                self.too_long = true;
                self.line.clear();
            }
            if !self.too_long {
                self.line.extend_from_slice(part);
            }
            if is_whole {
                let line = std::mem::take(&mut self.line);
                let text = String::from_utf8_lossy(&line);
                let understood =
                    !std::mem::take(&mut self.too_long) && self.line(text.trim_end_matches('\n')).is_some();
                self.strange += u64::from(!understood);
            }
        }
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let text = |at: usize| fields.get(at).map(|text| (*text).to_owned());
        match *fields.first()? {
            "hello" => self.words.push(Word::Hello { protocol: u32::try_from(number(1)?).ok()? }),
            "ready" => self.words.push(Word::Ready { ns: number(1)?, classes: number(2)? }),
            "hot" => self.words.push(Word::Hot { calls_per_s: number(2)?, method: text(3)? }),
            "refused" => self.words.push(Word::Refused { what: text(1)?, why: text(2)? }),
            "failed" => self.words.push(Word::Failed { why: text(1)? }),
            "over" => self.words.push(Word::Over),
            "M" => {
                (number(1)? == self.draft.methods.len() as u64 && self.draft.methods.len() < MOST_METHODS)
                    .then_some(())?;
                let is_hot = fields.get(2)? == &"hot";
                self.draft.methods.push(Method { name: text(3)?, is_hot, ..Method::default() });
            }
            "T" => {
                let row = (fields.get(1)?.parse().ok()?, text(3)?, number(2)?);
                let method = self.draft.methods.last_mut()?;
                (method.threads.len() < MOST_ROWS).then_some(())?;
                method.threads.push(row);
            }
            "D" => {
                let (thrown, unknown, times) = (number(1)?, number(2)?, times(fields.get(3..7)?)?);
                let method = self.draft.methods.last_mut()?;
                (method.thrown, method.unknown, method.times) = (thrown, unknown, times);
            }
            "C" => {
                let row = (text(7)?, number(1)?, number(2)?, times(fields.get(3..7)?)?);
                let method = self.draft.methods.last_mut()?;
                (method.callers.len() < MOST_ROWS).then_some(())?;
                method.callers.push(row);
            }
            "S" => {
                let method = self.draft.methods.get(usize::try_from(number(1)?).ok()?)?.name.clone();
                (self.slow.len() < MOST_SLOW).then_some(())?;
                self.slow.push(SlowCall {
                    method,
                    java_thread: fields.get(2)?.parse().ok()?,
                    begun_ns: fields.get(3)?.parse().ok()?,
                    took_ns: number(4)?,
                    thread: text(5)?,
                    stack: Vec::new(),
                    waited: Vec::new(),
                });
            }
            "F" => {
                let slow = self.slow.last_mut()?;
                (slow.stack.len() < MOST_FRAMES).then_some(())?;
                slow.stack.push(text(1)?);
            }
            "E" => {
                self.draft.left_out = number(1)?;
                self.draft.slow_left_out = number(2)?;
                self.counted = std::mem::take(&mut self.draft);
                self.answers += 1;
            }
            _ => return None,
        }
        Some(())
    }
}

/// Count, sum, maximum, and buckets as "from:count,…".
fn times(fields: &[&str]) -> Option<Times> {
    let [count, sum, max, buckets] = fields else { return None };
    let mut times = Times {
        count: count.parse().ok()?,
        sum_ns: sum.parse().ok()?,
        max_ns: max.parse().ok()?,
        buckets: Vec::new(),
    };
    for bucket in buckets.split(',').filter(|bucket| !bucket.is_empty()) {
        let (from, count) = bucket.split_once(':')?;
        let (from, count): (u64, u64) = (from.parse().ok()?, count.parse().ok()?);
        // Its eighths of a power of two as the quarters that all ways have.
        let from = if from < 4 { from } else { from & !((1 << (from.ilog2() - 2)) - 1) };
        match times.buckets.last_mut() {
            Some((last, sum)) if *last == from => *sum = sum.saturating_add(count),
            Some((last, _)) if *last > from => return None,
            _ => times.buckets.push((from, count)),
        }
    }
    Some(times)
}

/// Rows with the most calls first, those of the same name together.
pub(super) fn most_first(rows: impl Iterator<Item = (String, u64)>) -> Vec<CallsOf> {
    let mut sums = std::collections::HashMap::<String, u64>::new();
    rows.for_each(|(who, calls)| *sums.entry(who).or_default() += calls);
    let mut rows: Vec<CallsOf> = sums.into_iter().map(|(who, calls)| CallsOf { who, calls }).collect();
    rows.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.who.cmp(&b.who)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ANSWER: &str = "hello\t1\t5\nM\t0\twoven\ta.B::c()V\nT\t3\t7\tmain\nD\t1\t0\t6\t600\t200\t96:4,192:2\n\
                          C\t7\t7\t6\t600\t200\t96:4,192:2\ta.B.main:3\nS\t0\t3\t900\t200\tmain\nF\ta.B.c:9\nE\t0\t0\n";

    fn read(text: &[u8]) -> Wire {
        let mut wire = Wire::default();
        wire.take(text);
        wire
    }

    #[test]
    fn an_answer_is_read_however_it_is_cut_into_pieces() {
        let whole = read(ANSWER.as_bytes());
        let method = &whole.counted.methods[0];
        assert_eq!((method.threads.len(), method.thrown, method.callers[0].0.as_str()), (1, 1, "a.B.main:3"));
        assert_eq!(method.times.buckets, [(96, 4), (192, 2)]);
        assert_eq!((whole.slow[0].took_ns, whole.slow[0].stack[0].as_str()), (200, "a.B.c:9"));
        assert_eq!((whole.words.as_slice(), whole.strange), (&[Word::Hello { protocol: 1 }][..], 0));
        let mut pieces = Wire::default();
        ANSWER.as_bytes().chunks(3).for_each(|piece| pieces.take(piece));
        assert_eq!((pieces.counted, pieces.answers), (whole.counted, 1));
    }

    #[test]
    fn what_is_too_long_or_not_known_is_counted_and_left_out() {
        let long =
            format!("M\t0\twoven\t{}\nwhat\nM\t0\twoven\ta.B::c()V\nE\t0\t0\n", "x".repeat(LONGEST_LINE));
        let wire = read(long.as_bytes());
        assert_eq!((wire.strange, wire.counted.methods.len()), (2, 1));
        // Rows of no method.
        assert_eq!(read(b"T\t1\t1\tx\nC\t1\nD\nF\tx\nS\t9\t1\t1\t1\tx\n").strange, 5);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), cut in 0..200_usize) {
            let mut wire = read(&ANSWER.as_bytes()[..cut.min(ANSWER.len())]);
            wire.take(&bytes);
        }
    }
}
