//! What counts as slow, as a user writes it: `WORD[:WHAT]>LIMIT`.

use std::fmt;
use std::str::FromStr;

use fathom_recording::{FrameType, ProcessId, Ring, Role, SeriesId, SpanRow, StackId, ThreadId};

use super::limit::duration;
use super::triggers::TRIGGERS;
use crate::probes::Spec;
use crate::similar_names::similar_names;

/// A kind of triggers: one file in `triggers/`, one line in [`TRIGGERS`].
pub struct Kind {
    /// Its word.
    pub word: &'static str,
    /// How it is written, for the help.
    pub syntax: &'static str,
    /// When it is slow, one line for the help.
    pub about: &'static str,
    /// The collector that sees it.
    pub collector: Option<&'static str>,
    /// How its limit is meant.
    pub measure: Measure,
    /// Makes one. `Err`: what is wrong with what was written behind the word.
    pub make: Make,
}

/// Makes what looks for something, of what stands behind its word.
pub type Make = fn(what: Option<&str>) -> Result<Box<dyn Watch>, String>;

/// How a limit is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// It lasts longer than so long.
    Time,
    /// It is above or below so many percent of what it usually is.
    Usual,
}

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Longer than so many nanoseconds.
    Longer(i64),
    /// Below this part of the usual.
    Below(f64),
    /// Above this multiple of the usual.
    Above(f64),
}

impl Limit {
    /// Nanoseconds, where it is a time.
    pub fn ns(self) -> Option<i64> {
        if let Self::Longer(ns) = self { Some(ns) } else { None }
    }

    /// Whether something took too long.
    pub fn is_passed_by(self, row: &SpanRow<'_>) -> bool {
        self.ns().is_some_and(|ns| row.t1_ns.saturating_sub(row.t0_ns) > ns)
    }
}

/// What a trigger found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slow {
    /// From when to when, nanoseconds on the recording's clock.
    pub t0_ns: i64,
    /// See `t0_ns`.
    pub t1_ns: i64,
    /// Whose; `None`: the machine's.
    pub process: Option<ProcessId>,
    /// On which thread.
    pub thread: Option<ThreadId>,
    /// With which stack.
    pub stack: Option<StackId>,
    /// What it was, in words.
    pub what: String,
}

impl Slow {
    /// Of a span.
    pub fn of(row: &SpanRow<'_>, what: String) -> Self {
        let (t0_ns, t1_ns, process, thread, stack) =
            (row.t0_ns, row.t1_ns, Some(row.process), row.thread, row.stack);
        Self { t0_ns, t1_ns, process, thread, stack, what }
    }

    /// How long it lasted, nanoseconds.
    pub fn length_ns(&self) -> i64 {
        self.t1_ns.saturating_sub(self.t0_ns)
    }
}

/// Says of a thread that waits whether it has nothing to do, by the frames of its stack, the
/// innermost first, and what it is for. Whoever knows of stacks brings it along.
pub type AtRest = fn(&[(&str, FrameType)], Role) -> bool;

/// What spans are seen with.
pub struct Seen<'a> {
    /// The names of what a row has ids of.
    pub ring: &'a Ring,
    /// Which waits are none but those for work.
    pub at_rest: AtRest,
}

impl Seen<'_> {
    /// Frames of a stack that are looked at: more than any wait of a pool is deep.
    const MOST_FRAMES: usize = 1024;

    /// Whether the thread of a wait has nothing to do.
    pub fn is_at_rest(&self, row: &SpanRow<'_>) -> bool {
        let frames = self.ring.frames(row.stack, Self::MOST_FRAMES);
        let frames: Vec<(&str, FrameType)> =
            frames.iter().map(|(name, frame_type)| (name.as_str(), *frame_type)).collect();
        let role = row.thread.map_or(Role::Other, |id| self.ring.thread_role(id));
        (self.at_rest)(&frames, role)
    }
}

/// Looks at what comes in. What it is shown was not shown before, and rows come in when they have
/// ended.
pub trait Watch {
    /// A span.
    fn span(&mut self, _row: &SpanRow<'_>, _limit: Limit, _seen: &Seen<'_>) -> Option<Slow> {
        None
    }

    /// A point of a series: `value` over `[t_ns, t_ns + dt_ns)`.
    fn point(
        &mut self,
        _series: SeriesId,
        _time: (i64, i64),
        _value: f64,
        _limit: Limit,
        _ring: &Ring,
    ) -> Option<Slow> {
        None
    }
}

/// A trigger as it was written.
#[derive(Clone)]
pub struct Trigger {
    /// Which.
    pub kind: &'static Kind,
    /// What stands behind the word.
    pub what: Option<String>,
    /// Where slow begins.
    pub limit: Limit,
    text: String,
}

impl Trigger {
    /// The probe that it asks for.
    pub fn probe(&self) -> Option<Spec> {
        (self.kind.collector == Some(crate::probes::ENTRY.id)).then_some(())?;
        format!("{}:{}", self.kind.word, self.what.as_deref()?).parse().ok()
    }

    /// What looks for it.
    pub(super) fn watch(&self) -> Result<Box<dyn Watch>, String> {
        (self.kind.make)(self.what.as_deref())
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Trigger {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        // The last one: names of C++ have their own.
        let at = text.rfind(['>', '<']);
        let (subject, limit) = at.map_or((text, ""), |at| (&text[..at], &text[at + 1..]));
        let (word, what) = subject.split_once(':').map_or((subject, None), |(word, what)| (word, Some(what)));
        let (word, what) = (word.trim(), what.map(str::trim));
        let Some(kind) = TRIGGERS.iter().find(|kind| kind.word == word) else {
            let words: Vec<String> = TRIGGERS.iter().map(|kind| kind.word.to_owned()).collect();
            let all = TRIGGERS.iter().map(|kind| kind.syntax).collect::<Vec<_>>().join(", ");
            return Err(format!(
                "there is no trigger {word:?}{}; write {all}",
                similar_names(word, "", &words)
            ));
        };
        let how = |why: &str| format!("{why}write {}", kind.syntax);
        if limit.trim().is_empty() {
            return Err(how("it has no limit: "));
        }
        if what == Some("") {
            return Err(how("nothing stands behind the colon: "));
        }
        let below = at.is_some_and(|at| text.as_bytes().get(at) == Some(&b'<'));
        let limit = match kind.measure {
            Measure::Time if below => return Err(how("what is slow is longer than its limit: ")),
            Measure::Time => {
                // A second and a millisecond are both usual limits: a number alone is neither.
                if limit.trim().ends_with(|c: char| c.is_ascii_digit()) {
                    return Err(how(&format!("{limit:?} has no unit: ")));
                }
                let length = duration(limit).map_err(|why| how(&format!("{limit:?}: {why}; ")))?;
                Limit::Longer(i64::try_from(length.as_nanos()).unwrap_or(i64::MAX))
            }
            Measure::Usual => {
                let share = limit.trim().strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
                let share = share.filter(|n| n.is_finite() && *n > 0.0).map(|percent| percent / 100.0);
                let share = share.ok_or_else(|| how(&format!("{limit:?} is no percentage: ")))?;
                match below {
                    true if share < 1.0 => Limit::Below(share),
                    false if share > 1.0 => Limit::Above(share),
                    _ => return Err(how("below is less than 100%, above more: ")),
                }
            }
        };
        (kind.make)(what).map_err(|why| how(&format!("{why}; ")))?;
        Ok(Self { kind, what: what.map(str::to_owned), limit, text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn wrong(text: &str) -> String {
        text.parse::<Trigger>().unwrap_err()
    }

    #[test]
    fn triggers_are_read_with_what_they_are_about() {
        let trigger: Trigger = "syscall:write>50ms".parse().unwrap();
        assert_eq!((trigger.kind.word, trigger.what.as_deref()), ("syscall", Some("write")));
        assert_eq!(
            (trigger.limit.ns(), trigger.to_string()),
            (Some(50_000_000), "syscall:write>50ms".into())
        );
        assert_eq!("stop>0.2s".parse::<Trigger>().unwrap().limit, Limit::Longer(200_000_000));
        for kind in TRIGGERS {
            assert!(kind.syntax.starts_with(kind.word), "{}", kind.syntax);
            assert!(kind.collector.is_none_or(|id| crate::COLLECTORS.iter().any(|c| c.id == id)));
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_what_was_meant_perhaps() {
        assert!(wrong("stpo>200ms").contains("; near it: stop"), "{}", wrong("stpo>200ms"));
        assert!(wrong("syscall:wirte>1ms").contains("near it: write"), "{}", wrong("syscall:wirte>1ms"));
        assert!(wrong("stop").contains("no limit"));
        assert!(wrong("stop>").contains("no limit"));
        assert!(wrong("stop>200").contains("no unit"));
        assert!(wrong("stop<200ms").contains("longer than its limit"));
        assert!(wrong("stop>200 parsecs").contains("stop>"));
        assert!(wrong("lock:>1ms").contains("behind the colon"));
        assert!(wrong("offcpu:(>1s").contains("offcpu"));
        assert!(wrong("stop:x>1s").contains("stop>"));
        assert!(wrong("").contains("there is no trigger"));
    }
}
