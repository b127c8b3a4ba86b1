//! Pressure stall information: `/proc/pressure/{cpu,memory,io}` (Documentation/accounting/psi.rst).
//!
//! `total` is used and not the averages: it counts microseconds, and averages over 10 s hide what
//! lasted one.

use fathom_recording::vocabulary::live;

use super::{HostSource, Unavailable};
use crate::growing_series::{Counter, Gauge, Points};
use crate::procfs::Repeated;

/// The source.
#[derive(Default)]
pub struct Pressure {
    files: Vec<(Repeated, [Counter; 2])>,
}

/// Lines of each file.
const LINES: [&str; 2] = ["some", "full"];

impl HostSource for Pressure {
    fn start(&mut self) -> Result<(), Unavailable> {
        let files = [
            ("cpu", live::HOST_PRESSURE_CPU),
            ("memory", live::HOST_PRESSURE_MEMORY),
            ("io", live::HOST_PRESSURE_IO),
        ];
        for (name, word) in files {
            // With psi=0 the files are there and reading them fails (EOPNOTSUPP).
            let file = Repeated::open(format!("/proc/pressure/{name}"));
            let Some(mut file) = file else { continue };
            if file.read().is_some() {
                self.files.push((file, LINES.map(|line| Counter::new(Gauge::new(word, line), 1e-6))));
            }
        }
        if self.files.is_empty() {
            return Err(Unavailable {
                scope: None,
                what: "pressure (how long tasks waited for CPU, memory and I/O)".into(),
                why: "this kernel has no /proc/pressure, or it is switched off".into(),
                remedy: "boot with psi=1 (kernel 4.20 or later with CONFIG_PSI)".into(),
            });
        }
        Ok(())
    }

    fn read(&mut self, points: &mut Points<'_, '_>) {
        for (file, counters) in &mut self.files {
            for line in file.read().unwrap_or_default().lines() {
                let Some((label, total)) = line.split_once(' ').zip(line.rsplit_once("total=")) else {
                    continue;
                };
                let Some(which) = LINES.iter().position(|l| *l == label.0) else { continue };
                total.1.parse().into_iter().for_each(|us| points.counter(&mut counters[which], us));
            }
        }
    }
}
