//! What reading a dump takes, step by step: `cargo run --release -p fathom-heap --example measure
//! -- DUMP
//! [N]`. With N, the N objects that keep most: address, retained, shallow, dominator, class. With `DISK=1` the
//! index is on disk, with `PAGE=1` what the page shows is made in place of the first screen.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fathom_heap::report::{About, Picture, Screen};
use fathom_heap::{Kept, Referents};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let path = Path::new(arguments.get(1).ok_or("a dump is to be named")?);
    let begun = Instant::now();
    // What is mapped of the dump counts as memory of the process, too.
    static PEAK_KB: AtomicU64 = AtomicU64::new(0);
    std::thread::spawn(|| {
        loop {
            PEAK_KB.fetch_max(status_kb("RssAnon:"), Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let step = |what: &str| {
        let peak = PEAK_KB.swap(0, Ordering::Relaxed);
        eprintln!(
            "{:7.2} s, {:6.2} s of CPU  {what}: own {} kB, at the peak {peak} kB, mapped {} kB",
            begun.elapsed().as_secs_f64(),
            cpu_s(),
            status_kb("RssAnon:"),
            status_kb("RssFile:"),
        );
    };
    let heap = fathom_heap::read(path, Referents::AsAll, std::env::var_os("DISK").map(|_| 0))?;
    step(&format!("read, {} objects", heap.len()));
    if std::env::var_os("PAGE").is_some() {
        let nodes = Picture::of_heap(&heap, About::of(&heap, path, true)).nodes.len();
        step(&format!("dominators and all that a page shows, {nodes} nodes"));
        return Ok(());
    }
    let screen = Screen::of_heap(&heap, About::of(&heap, path, true), 15);
    step(&format!("dominators and first screen, {} holders", screen.holders.all.len()));
    if let Some(most) = arguments.get(2) {
        let kept = Kept::of(&heap);
        step("dominators once more");
        let mut numbers: Vec<u32> = kept.numbers().collect();
        numbers.sort_unstable_by_key(|number| std::cmp::Reverse(kept.retained(*number)));
        for number in numbers.into_iter().take(most.parse()?) {
            let node = kept.node(number);
            let above = Some(kept.dominator(number)).filter(|above| *above != 0);
            println!(
                "{:#x} {} {} {:#x} {}",
                heap.address(node),
                kept.retained(number),
                heap.size(node),
                above.map_or(0, |above| heap.address(kept.node(above))),
                heap.class(node).name
            );
        }
    }
    Ok(())
}

/// A number of `/proc/PID/status`, kB.
fn status_kb(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("");
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}

/// Time on a CPU so far, all threads together, in user mode and in the kernel.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = stat.rsplit(')').next().unwrap_or("").split_whitespace().skip(11).take(2);
    ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}
