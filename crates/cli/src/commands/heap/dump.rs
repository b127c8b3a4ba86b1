//! A dump of a running JVM, by its own `GC.heap_dump` through the attach protocol.
//!
//! The JVM is stopped from the first byte to the last: that is HotSpot's way. How long that may be
//! is printed before, how long it was after. The file is the JVM's to write, as its user and
//! in its mount namespace; whether there is room for it is looked up before.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use fathom_hotspot::attach::Attach;
use fathom_hotspot::jcmd::quoted;
use fathom_hotspot::perf_data;

/// How long a dump may take. A JVM that is given up goes on with it.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Bytes that a JVM writes in a second, with what the collection before takes: dumps of 28 to 40 MB
/// of JDK 17 to 25 were written at 41 to 139 MB/s on a busy machine; the upper bound is assumed.
const WRITES: std::ops::Range<f64> = 40e6..250e6;

/// Makes the dump and says on standard error what it took.
pub fn dump(pid: u32, file: &Path, with_garbage: bool) -> Result<()> {
    let file = absolute(file)?;
    if file.extension().is_some_and(|extension| extension == "gz") {
        bail!(
            "{}: the JVM writes the dump unpacked; a name without .gz, or jcmd {pid} GC.heap_dump -gz=1 FILE (JDK 17 and later)",
            file.display()
        );
    }
    if file.symlink_metadata().is_ok() {
        bail!("{}: it is there already; the JVM does not overwrite a file", file.display());
    }
    let attach = Attach::to(pid)?;
    let seen_by_the_jvm = same_files(pid, file.parent().unwrap_or(Path::new("/")));
    if !seen_by_the_jvm {
        bail!(
            "JVM {pid} does not see {} (it runs in a container): dump into a folder that both see",
            file.parent().unwrap_or(Path::new("/")).display()
        );
    }
    has_room(&attach, pid, &file)?;
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let per_cpu = busy().unwrap_or(0.0) / cpus as f64;
    let counter = if with_garbage { "capacity" } else { "used" };
    // Before the first collection nothing is counted as used.
    let bytes = sum(pid, &attach, counter).or_else(|| sum(pid, &attach, "capacity"));
    announce(pid, bytes, per_cpu);
    let path = file.to_str().and_then(quoted).context("the file's name cannot be passed to the JVM")?;
    let all = if with_garbage { "-all " } else { "" };
    let before = stopped(pid, &attach);
    let begun = Instant::now();
    let answer = attach.jcmd_within(PATIENCE, &format!("GC.heap_dump {all}{path}"))?;
    let took = begun.elapsed();
    let bytes = std::fs::metadata(&file)
        .with_context(|| format!("JVM {pid} wrote no dump: {}", answer.trim()))?
        .len();
    let in_safepoints = before.zip(stopped(pid, &attach)).map(|(before, after)| after - before);
    let size = fathom_diagnose::quantity::bytes(bytes as f64);
    let seconds = |s: f64| fathom_diagnose::quantity::seconds(s);
    let stopped = match in_safepoints {
        Some(s) => {
            format!("its threads were stopped for {} of it, by its own count of safepoints", seconds(s))
        }
        None => {
            "its threads were stopped for nearly all of it (it publishes no count of safepoints)".to_owned()
        }
    };
    eprintln!("fathom: JVM {pid} dumped {size} in {}; {stopped}", seconds(took.as_secs_f64()));
    Ok(())
}

fn absolute(file: &Path) -> Result<PathBuf> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().with_context(|| folder.display().to_string())?;
    let name = file.file_name().with_context(|| format!("{}: not a file name", file.display()))?;
    Ok(folder.join(name))
}

/// Whether a folder of ours is the same one in the JVM's view.
fn same_files(pid: u32, folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let theirs = Path::new("/proc")
        .join(pid.to_string())
        .join("root")
        .join(folder.strip_prefix("/").unwrap_or(folder));
    match (std::fs::metadata(folder), std::fs::metadata(theirs)) {
        (Ok(ours), Ok(theirs)) => (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino()),
        _ => false,
    }
}

/// A dump of objects that take so much: up to one and a half times as much where references are
/// compressed, as it has them at full width.
fn grown(bytes: u64) -> u64 {
    bytes + bytes / 2
}

/// Whether the folder has room for the heap, were it full.
fn has_room(attach: &Attach, pid: u32, file: &Path) -> Result<()> {
    let Some(capacity) = sum(pid, attach, "capacity") else { return Ok(()) };
    let needed = grown(capacity);
    let folder = file.parent().unwrap_or(Path::new("/"));
    let about = rustix::fs::statvfs(folder).with_context(|| folder.display().to_string())?;
    let free = about.f_bavail.saturating_mul(about.f_frsize);
    if free < needed {
        let bytes = |n: u64| fathom_diagnose::quantity::bytes(n as f64);
        bail!(
            "{}: {} free, and the dump may take {} (the heap has room for {}); dump to another disk",
            folder.display(),
            bytes(free),
            bytes(needed),
            bytes(capacity)
        );
    }
    Ok(())
}

/// Says how long the JVM is going to be stopped.
fn announce(pid: u32, bytes: Option<u64>, per_cpu: f64) {
    let meanwhile = "its threads are stopped while it collects the heap and writes the dump";
    let Some(bytes) = bytes else {
        eprintln!("fathom: JVM {pid}: {meanwhile}; for how long is not known (it publishes no counters)");
        return;
    };
    let (least, most) = stopped_s(bytes, per_cpu);
    let seconds = |s: f64| fathom_diagnose::quantity::seconds(s);
    let size = fathom_diagnose::quantity::bytes(bytes as f64);
    eprintln!(
        "fathom: JVM {pid}: {meanwhile}, some {} to {} (for {size} of objects)",
        seconds(least),
        seconds(most)
    );
}

/// Seconds for which a JVM is stopped, at least and at most, for so many bytes of objects, where so
/// many threads of the machine want each CPU.
fn stopped_s(bytes: u64, per_cpu: f64) -> (f64, f64) {
    (bytes as f64 / WRITES.end, grown(bytes) as f64 / WRITES.start * per_cpu.max(1.0))
}

/// Threads that run or want to, of the last minute.
fn busy() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

/// A counter of all spaces of the heap: what they have in use, as counted after the last
/// collection, or their capacity.
fn sum(pid: u32, attach: &Attach, counter: &str) -> Option<u64> {
    let counters = perf_data::read(pid, attach.status()).ok()??;
    let spaces = (0..2).flat_map(|generation| (0..3).map(move |space| (generation, space)));
    let sum: i64 = spaces
        .filter_map(|(generation, space)| {
            counters.number(&format!("sun.gc.generation.{generation}.space.{space}.{counter}"))
        })
        .sum();
    u64::try_from(sum).ok().filter(|sum| *sum > 0)
}

/// Seconds that the JVM has been stopped at safepoints, by its own counters.
fn stopped(pid: u32, attach: &Attach) -> Option<f64> {
    let counters = perf_data::read(pid, attach.status()).ok()??;
    let ticks = counters.number("sun.rt.safepointTime")?;
    let frequency = counters.number("sun.os.hrt.frequency").filter(|frequency| *frequency > 0)?;
    Some(ticks as f64 / frequency as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_heap_and_a_busy_machine_stop_a_jvm_for_longer() {
        let (least, most) = stopped_s(1_000_000_000, 0.5);
        assert_eq!((least, most), (4.0, 37.5));
        assert_eq!(stopped_s(1_000_000_000, 8.0), (4.0, 300.0));
        assert!(stopped_s(2_000_000_000, 1.0).0 > least);
    }
}
