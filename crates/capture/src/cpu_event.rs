//! What takes a CPU sample: the kernel's clock, or cycles that the CPU counts.

use std::io;
use std::os::fd::OwnedFd;

use fathom_recording::Sampling;
use fathom_recording::vocabulary::sample;

use crate::{Unavailable, check, perf_event};

/// What takes a CPU sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CpuEvent {
    /// Ticks of the kernel's clock: a sample weighs nanoseconds.
    #[default]
    CpuClock,
    /// Cycles that the CPU counts (`PERF_COUNT_HW_CPU_CYCLES`): a sample weighs cycles. On
    /// x86 it comes by an interrupt that nothing can hold off, so that code of the kernel that bars
    /// interrupts is seen where it is.
    Cycles,
}

impl CpuEvent {
    /// Its name, as perf has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::CpuClock => "cpu-clock",
            Self::Cycles => "cycles",
        }
    }

    /// The kind of its samples.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::CpuClock => sample::CPU,
            Self::Cycles => sample::CYCLES,
        }
    }

    /// What takes so many samples a second, for the recording's source.
    pub(crate) fn sampling(self, rate_hz: u32) -> Sampling {
        Sampling {
            event: self.name().into(),
            unit: sample::unit(self.kind()).into(),
            rate_hz,
            period: (self == Self::CpuClock).then_some(period_ns(rate_hz)),
        }
    }

    /// Opens it on a CPU.
    pub(crate) fn open(self, cpu: u32, rate_hz: u32) -> io::Result<OwnedFd> {
        match self {
            Self::CpuClock => perf_event::cpu_clock(cpu, period_ns(rate_hz)),
            Self::Cycles => perf_event::cycles(cpu, rate_hz),
        }
    }

    /// Whether it can be had here; `Err`: why not, and the way out. By trying it on the first
    /// CPU.
    pub fn check(self, rate_hz: u32) -> Result<(), Unavailable> {
        let cpu = perf_event::online().first().copied().unwrap_or(0);
        self.open(cpu, rate_hz).map(drop).map_err(|error| self.refused(cpu, &error))
    }

    /// Why there are no samples.
    pub(crate) fn refused(self, cpu: u32, error: &io::Error) -> Unavailable {
        let none = [libc::ENOENT, libc::EOPNOTSUPP, libc::ENODEV];
        if self == Self::Cycles && error.raw_os_error().is_some_and(|code| none.contains(&code)) {
            return Unavailable {
                scope: None,
                what: "CPU samples by hardware cycles".into(),
                why: "this machine counts none, as most virtual machines".into(),
                remedy: "record with --event cpu-clock (the default)".into(),
            };
        }
        let limit = check::setting("kernel.perf_event_max_sample_rate");
        let remedy = match (error.raw_os_error(), limit) {
            (Some(libc::EINVAL), Some(hz)) if self == Self::Cycles => {
                format!(
                    "ask for -F {hz} at most (kernel.perf_event_max_sample_rate), or for --event cpu-clock"
                )
            }
            _ => "run fathom as root, or lower kernel.perf_event_paranoid".to_owned(),
        };
        Unavailable {
            scope: None,
            what: "CPU samples".into(),
            why: format!("perf_event_open of {} for CPU {cpu}: {error}", self.name()),
            remedy,
        }
    }
}

pub(crate) fn period_ns(rate_hz: u32) -> u64 {
    1_000_000_000 / u64::from(rate_hz.max(1))
}
