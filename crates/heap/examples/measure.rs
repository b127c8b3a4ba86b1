//! What reading a dump takes, step by step: `cargo run --release -p fathom-heap --example measure
//! -- DUMP
//! [N]`. With N, the N objects that keep most: address, retained, shallow, class. With `DISK=1` the
//! index is on disk.

use std::path::Path;
use std::time::Instant;

use fathom_heap::report::{About, Picture};
use fathom_heap::{Kept, Referents};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let path = Path::new(arguments.get(1).ok_or("a dump is to be named")?);
    let begun = Instant::now();
    let step = |what: &str| {
        let peak = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let field = |name: &str| {
            let line = peak.lines().find_map(|line| line.strip_prefix(name));
            line.map_or_else(String::new, |line| line.trim().to_owned())
        };
        // What is mapped of the dump counts as memory of the process; what is its own is told
        // beside it.
        eprintln!(
            "{:7.2} s  {what}: own {}, mapped {}",
            begun.elapsed().as_secs_f64(),
            field("RssAnon:"),
            field("RssFile:")
        );
    };
    let heap = fathom_heap::read(path, Referents::AsAll, std::env::var_os("DISK").map(|_| 0))?;
    step(&format!("read, {} objects", heap.len()));
    let kept = Kept::of(&heap);
    step("dominators");
    let picture = Picture::of(&heap, &kept, About::of(&heap, path, true));
    let (holders, nodes) = (picture.screen.holders.all.len(), picture.nodes.len());
    step(&format!("first screen and what the page shows, {holders} holders, {nodes} nodes"));
    if let Some(most) = arguments.get(2) {
        let mut numbers: Vec<u32> = (1..kept.len() as u32).collect();
        numbers.sort_unstable_by_key(|number| std::cmp::Reverse(kept.retained(*number)));
        for number in numbers.into_iter().take(most.parse()?) {
            let node = kept.node(number);
            println!(
                "{:#x} {} {} {}",
                heap.address(node),
                kept.retained(number),
                heap.size(node),
                heap.class(node).name
            );
        }
    }
    Ok(())
}
