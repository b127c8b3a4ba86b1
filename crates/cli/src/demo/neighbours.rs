//! How much of the CPUs other programs took while the demo ran: on a busy machine its own
//! fault can drown.

use std::time::{Duration, Instant};

/// Beyond this share of all CPUs taken by others, a run of the demo may be about them: a
/// throughput that others halve varies by more than the dip that the demo makes.
const MATTERS: f64 = 0.25;

/// The CPUs' and our own time when a run began.
pub struct Neighbours {
    begun: Instant,
    all: Option<Duration>,
    own: Option<Duration>,
}

impl Neighbours {
    /// Begins to look.
    pub fn watch() -> Self {
        Self { begun: Instant::now(), all: busy(), own: children() }
    }

    /// What others took since, in words, where it may have hidden the demo's own fault; `None`
    /// where it did not, or where the kernel does not say.
    pub fn warning(&self) -> Option<String> {
        let all = busy()?.checked_sub(self.all?)?;
        let own = children()?.checked_sub(self.own?)?;
        let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
        warning(all, own, self.begun.elapsed() * u32::try_from(cpus).unwrap_or(u32::MAX))
    }
}

fn warning(all: Duration, own: Duration, there: Duration) -> Option<String> {
    let taken = all.saturating_sub(own).as_secs_f64() / there.as_secs_f64().max(f64::MIN_POSITIVE);
    (taken >= MATTERS).then(|| {
        format!(
            "other processes (or the hypervisor) took {:.0}% of the CPUs while the demo ran, so the verdict may be about them \
             rather than about the demo's fault; run it again when the machine is idle",
            (taken * 100.0).min(100.0)
        )
    })
}

/// Time that the CPUs spent on anything but idling, stolen time included: the first line of
/// /proc/stat (proc(5)).
fn busy() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let fields: Vec<u64> =
        text.lines().next()?.split_ascii_whitespace().skip(1).map_while(|field| field.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; guest time is part of user.
    let ticks = fields.iter().take(8).sum::<u64>().checked_sub(fields.get(3)? + fields.get(4)?)?;
    Some(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

/// CPU time of the children that were waited for: utime and stime of children in /proc/self/stat
/// (proc(5), fields 16 and 17).
fn children() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace().skip(13);
    let ticks = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    #[test]
    fn only_what_others_took_is_warned_of() {
        assert_eq!(warning(S(100), S(95), S(100)), None);
        assert!(warning(S(100), S(40), S(100)).is_some_and(|text| text.contains("took 60%")));
        assert_eq!(warning(S(10), S(40), S(100)), None, "clocks that disagree are no neighbours");
    }

    #[test]
    fn the_processors_and_a_child_that_computes_are_seen() {
        let before = Neighbours::watch();
        let mut child = std::process::Command::new("sh")
            .args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"])
            .spawn()
            .unwrap();
        assert!(child.wait().unwrap().success());
        assert!(children().unwrap() > before.own.unwrap());
        assert!(busy().unwrap() > before.all.unwrap());
    }
}
