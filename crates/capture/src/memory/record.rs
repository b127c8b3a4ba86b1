//! What the program in the kernel sends and counts: `bpf/memory.h`.

use fathom_recording::vocabulary::memory_stall;

use super::program::skeleton::types::{fault_counts, fault_mapping, memory_tail, memory_what};
use crate::bpf::record::text;

/// A mapping as a fault found it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FaultMapping {
    /// Where it could not be looked at: an address in it.
    pub(super) start: u64,
    /// 0: it could not be looked at.
    pub(super) end: u64,
    /// `vm_flags`.
    pub(super) flags: u64,
    /// Of its file; 0: none.
    pub(super) inode: u64,
    /// User stack pointer of the thread that faulted.
    pub(super) sp: u64,
    /// Of its file, without folders.
    pub(super) name: String,
}

/// What a record holds, behind its stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tail {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) address: u64,
    pub(super) argument: u64,
    pub(super) what: What,
    /// Faults that it stands for; 0: it is no sample.
    pub(super) weight: u32,
    pub(super) mapping: FaultMapping,
}

/// What a record reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum What {
    Fault,
    Major,
    Reclaim,
    GroupReclaim,
    Compaction,
    MapLock,
    Oom,
    SlowMinor,
}

impl What {
    pub(super) fn of(number: u32) -> Option<Self> {
        Some(match memory_what(number) {
            memory_what::MEMORY_FAULT => Self::Fault,
            memory_what::MEMORY_MAJOR => Self::Major,
            memory_what::MEMORY_RECLAIM => Self::Reclaim,
            memory_what::MEMORY_GROUP_RECLAIM => Self::GroupReclaim,
            memory_what::MEMORY_COMPACTION => Self::Compaction,
            memory_what::MEMORY_MAP_LOCK => Self::MapLock,
            memory_what::MEMORY_OOM => Self::Oom,
            memory_what::MEMORY_SLOW_MINOR => Self::SlowMinor,
            _ => return None,
        })
    }

    /// The name of a stall, as span and as instance of a series.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Fault | Self::SlowMinor => "minor",
            Self::Major => "major",
            Self::Reclaim => memory_stall::RECLAIM,
            Self::GroupReclaim => memory_stall::GROUP_RECLAIM,
            Self::Compaction => memory_stall::COMPACTION,
            Self::MapLock => "address space lock",
            Self::Oom => "out of memory",
        }
    }
}

/// Faults of a thread in a mapping since they began to be counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) mapping: FaultMapping,
    pub(super) numbers: Numbers,
    pub(super) pid: u32,
    pub(super) tid: u32,
}

/// Numbers of faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) minor: u64,
    pub(super) major: u64,
    /// Of those that were timed.
    pub(super) protect: u64,
    pub(super) in_kernel: u64,
    pub(super) ns: u64,
    pub(super) timed: u64,
}

impl Numbers {
    /// What came since; a count that began anew counts from zero.
    pub(super) fn since(self, before: Self) -> Self {
        let rise = |now: u64, before: u64| now.checked_sub(before).unwrap_or(now);
        Self {
            minor: rise(self.minor, before.minor),
            major: rise(self.major, before.major),
            protect: rise(self.protect, before.protect),
            in_kernel: rise(self.in_kernel, before.in_kernel),
            ns: rise(self.ns, before.ns),
            timed: rise(self.timed, before.timed),
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.minor += other.minor;
        self.major += other.major;
        self.protect += other.protect;
        self.in_kernel += other.in_kernel;
        self.ns += other.ns;
        self.timed += other.timed;
    }

    /// Newer ones, compared with which those of before count half.
    pub(super) fn renew(&mut self, newer: Self) {
        *self = self.halved();
        self.add(newer);
    }

    /// Half of what shows how long they took.
    fn halved(self) -> Self {
        let Self { protect, in_kernel, ns, timed, .. } = self;
        Self {
            protect: protect / 2,
            in_kernel: in_kernel / 2,
            ns: ns / 2,
            timed: timed / 2,
            ..Self::default()
        }
    }

    /// All faults.
    pub(super) fn faults(self) -> u64 {
        self.minor + self.major
    }

    /// All of them, if they are in their times and causes as the timed ones of `shape`.
    pub(super) fn as_timed(self, shape: Self) -> Self {
        let share = |part: u64| {
            if shape.timed == 0 {
                return 0;
            }
            (part as f64 * self.faults() as f64 / shape.timed as f64).round() as u64
        };
        Self { protect: share(shape.protect), in_kernel: share(shape.in_kernel), ns: share(shape.ns), ..self }
    }
}

impl FaultMapping {
    fn of(mapping: &fault_mapping) -> Self {
        Self {
            start: mapping.start,
            end: mapping.end,
            flags: mapping.flags,
            inode: mapping.inode,
            sp: mapping.sp,
            name: text(&mapping.name),
        }
    }
}

impl Tail {
    /// As it stands behind a stack; `None` where its kind is not known.
    pub(super) fn of(tail: &memory_tail) -> Option<Self> {
        Some(Self {
            from_ns: tail.from_ns,
            to_ns: tail.to_ns,
            address: tail.address,
            argument: tail.argument,
            what: What::of(tail.what)?,
            weight: tail.weight,
            mapping: FaultMapping::of(&tail.mapping),
        })
    }
}

impl Counts {
    /// A value of the map `places`.
    pub(super) fn of(counts: &fault_counts) -> Self {
        let numbers = Numbers {
            minor: counts.minor,
            major: counts.major,
            protect: counts.protect,
            in_kernel: counts.in_kernel,
            ns: counts.ns,
            timed: counts.timed,
        };
        Self { mapping: FaultMapping::of(&counts.mapping), numbers, pid: counts.pid, tid: counts.tid }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::record::characters;

    #[test]
    fn a_record_of_an_unknown_kind_is_none() {
        let mapping = fault_mapping { name: characters("libz"), ..fault_mapping::default() };
        let sent = memory_tail { what: 1, mapping, ..memory_tail::default() };
        let tail = Tail::of(&sent).unwrap();
        assert_eq!((tail.what, tail.mapping.name.as_str()), (What::Fault, "libz"));
        assert_eq!(Tail::of(&memory_tail { what: 9, ..sent }), None);
        assert_eq!(Tail::of(&memory_tail { what: 0, ..sent }), None);
    }

    #[test]
    fn faults_that_were_not_timed_took_as_long_as_the_others() {
        let before = Numbers { minor: 10, timed: 10, ns: 1000, ..Numbers::default() };
        let now = Numbers { minor: 30, timed: 20, ns: 2000, ..Numbers::default() };
        let rise = now.since(before);
        assert_eq!((rise.faults(), rise.as_timed(rise).ns), (20, 2000));
        assert_eq!(before.since(now), before, "a count that began anew");
    }
}
