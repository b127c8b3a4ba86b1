//! Real runs that are shortened, thinned, made noisy or deprived of JVMs and clients, and synthetic
//! ones of other shapes: how many tables are placed right, placed wrong, and not placed. The table
//! of docs/alignment.md is what `cargo test --release -p fathom-ingest --lib robustness --
//! --ignored --nocapture` prints.

use std::fs;
use std::path::PathBuf;

use fathom_recording::{ClockBasis, Recording};

use super::super::activity;
use super::tests::Noise;
use super::*;

/// Two real runs with what their JVMs did, their clients' throughput, and when second 0 of those
/// was (see the README of the fixtures: for the second run it is known from the requests that
/// arrive to a quarter of a second, for the first to two seconds).
struct Run {
    name: &'static str,
    witnesses: Vec<Witness>,
    clients: Vec<Vec<f64>>,
    zero_s: f64,
}

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn clients(folder: &str) -> Vec<Vec<f64>> {
    let of = |i: usize| {
        let text = fs::read_to_string(fixture(folder).join(format!("client{i}.csv"))).unwrap();
        let values = text.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().trim().parse().unwrap());
        values.collect()
    };
    (0..3).map(of).collect()
}

fn from_logs() -> Run {
    let files = [
        "gc0.log",
        "gc1.log",
        "gc2.log",
        "gc3.log",
        "jit0.xml.zst",
        "jit1.xml.zst",
        "jit2.xml.zst",
        "jit3.xml.zst",
    ];
    let paths: Vec<_> = files.iter().map(|name| fixture("elasql").join(name)).collect();
    let mut recording = Recording::new();
    crate::read_inputs(&paths, &crate::Options::default(), &mut recording).unwrap();
    let jvms = recording.sources.iter().filter(|s| s.clock == ClockBasis::JvmUptime);
    let zero_ns = jvms.map(|s| s.placement.offset_ns).min().unwrap();
    let witnesses = activity::witnesses(&recording, &|_| Some(0), zero_ns, 0.5);
    Run { name: "logs of GC and JIT", witnesses, clients: clients("elasql"), zero_s: 37.0 }
}

fn live() -> Run {
    let text = fs::read_to_string(fixture("elasql-live").join("activity.txt")).unwrap();
    let witness = |line: &str| {
        let mut words = line.split(' ');
        let (what, process, how) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        let from_s: f64 = words.next().unwrap().parse().unwrap();
        let numbers = |word: &str| -> Vec<f64> { word.split(':').map(|n| n.parse().unwrap()).collect() };
        let rows: Vec<Vec<f64>> = words.map(numbers).collect();
        let mut sum = 0.0;
        let sums = match how {
            "count" => {
                let sums = rows.iter().enumerate().map(|(i, row)| {
                    sum += row[0];
                    (from_s + 0.5 * (i + 1) as f64, sum)
                });
                sums.collect()
            }
            "rate" => activity::integral(rows.iter().map(|row| (row[0], row[1], row[2]))),
            _ => {
                let mut after = None;
                let sums = rows.iter().map(|row| {
                    sum += after.map_or(0.0, |after: f64| (row[1] - after).max(0.0));
                    after = Some(row[2]);
                    (row[0], sum)
                });
                sums.collect()
            }
        };
        let what: &'static str = Box::leak(what.to_owned().into_boxed_str());
        let process = process.parse().ok().map(ProcessId);
        Witness { what, process, either_way: what == "jit.compile", sums }
    };
    let witnesses = text.lines().map(witness).collect();
    Run { name: "live recording", witnesses, clients: clients("elasql-live"), zero_s: 17.75 }
}

fn sum(clients: &[Vec<f64>]) -> Vec<f64> {
    let n = clients.iter().map(Vec::len).min().unwrap();
    (0..n).map(|i| clients.iter().map(|c| c[i]).sum()).collect()
}

fn ticks(values: &[f64], length_s: f64) -> Vec<Tick> {
    let tick =
        |(i, value): (usize, &f64)| Tick { from_s: i as f64 * length_s, length_s, value: *value / length_s };
    values.iter().enumerate().map(tick).collect()
}

/// How often each outcome occurred, for one sort of case.
#[derive(Default, Debug)]
struct Count {
    right: usize,
    wrong: Vec<String>,
    not: usize,
}

#[derive(Default)]
struct Counts(BTreeMap<String, Count>);

impl Counts {
    /// `zero_s`: the right offset; none when the table is unrelated to the JVMs.
    fn judge(&mut self, case: &str, table: &[Tick], witnesses: &[Witness], zero_s: Option<f64>) {
        let count = self.0.entry(case.to_owned()).or_default();
        match best_offset(table, witnesses).filter(Match::is_certain) {
            None => count.not += 1,
            Some(found) => {
                // The true offset of the run from logs is known to two seconds only.
                let near = |zero_s: f64| (found.offset_s - zero_s).abs() <= found.uncertainty_s.max(2.0);
                match zero_s.is_some_and(near) {
                    true => count.right += 1,
                    false => count.wrong.push(format!("{found:?}")),
                }
            }
        }
    }

    fn print(&self) {
        println!("| case | placed right | placed wrong | not placed |\n|---|---|---|---|");
        for (case, count) in &self.0 {
            println!("| {case} | {} | {} | {} |", count.right, count.wrong.len(), count.not);
        }
        for (case, count) in &self.0 {
            count.wrong.iter().for_each(|wrong| println!("{case}: {wrong}"));
        }
    }

    fn wrong(&self) -> usize {
        self.0.values().map(|count| count.wrong.len()).sum()
    }
}

/// Random numbers with the distribution of throughput's noise, about normal.
fn normal(noise: &mut Noise) -> f64 {
    (0..6).map(|_| noise.next()).sum::<f64>() / 1.41
}

/// Applies every modification to a real run, the random ones `often` times each.
fn real(counts: &mut Counts, run: &Run, often: u64) {
    let name = |case: &str| format!("{}: {case}", run.name);
    let work = sum(&run.clients);
    let truth = Some(run.zero_s);
    counts.judge(&name("as it is"), &ticks(&work, 1.0), &run.witnesses, truth);
    for client in &run.clients {
        counts.judge(&name("one client alone"), &ticks(client, 1.0), &run.witnesses, truth);
    }
    for client in run.clients.iter().chain([&work]) {
        let reversed: Vec<f64> = client.iter().rev().copied().collect();
        counts.judge(&name("unrelated: reversed"), &ticks(&reversed, 1.0), &run.witnesses, None);
    }
    let processes: BTreeSet<_> = run.witnesses.iter().filter_map(|w| w.process).collect();
    for process in &processes {
        let one: Vec<_> = run.witnesses.iter().filter(|w| w.process == Some(*process)).cloned().collect();
        counts.judge(&name("one JVM alone"), &ticks(&work, 1.0), &one, truth);
        let rest: Vec<_> = run.witnesses.iter().filter(|w| w.process != Some(*process)).cloned().collect();
        counts.judge(&name("one JVM missing"), &ticks(&work, 1.0), &rest, truth);
    }
    if often == 0 {
        return;
    }
    for what in run.witnesses.iter().map(|w| w.what).collect::<BTreeSet<_>>() {
        let rest: Vec<_> = run.witnesses.iter().filter(|w| w.what == what).cloned().collect();
        counts.judge(&name("one kind of witness alone"), &ticks(&work, 1.0), &rest, truth);
    }
    for together in [2, 3, 5] {
        let coarse: Vec<f64> = work.chunks_exact(together).map(|c| c.iter().sum()).collect();
        counts.judge(&name("ticks of 2, 3, 5 s"), &ticks(&coarse, together as f64), &run.witnesses, truth);
    }
    let mean = work.iter().sum::<f64>() / work.len() as f64;
    for seed in 0..often {
        let mut noise = Noise(seed);
        for share in [0.05, 0.1, 0.2, 0.5] {
            let loud: Vec<f64> =
                work.iter().map(|w| (w + share * mean * normal(&mut noise)).max(0.0)).collect();
            let case = name(&format!("noise of {:.0}% added", 100.0 * share));
            counts.judge(&case, &ticks(&loud, 1.0), &run.witnesses, truth);
        }
        for length in [40, 80, 120, 160] {
            let at = ((noise.next() + 1.0) / 2.0 * (work.len() - length) as f64) as usize;
            let part = ticks(&work[at..at + length], 1.0);
            let case = name(&format!("{length} s taken out"));
            counts.judge(&case, &part, &run.witnesses, truth.map(|t| t + at as f64));
        }
        // Unrelated: parts of the table, reversed and in another order.
        let mut parts: Vec<Vec<f64>> = work.chunks(work.len() / 6).map(<[f64]>::to_vec).collect();
        for i in (1..parts.len()).rev() {
            parts.swap(i, ((noise.next() + 1.0) / 2.0 * (i + 1) as f64) as usize % (i + 1));
        }
        parts.iter_mut().for_each(|part| part.reverse());
        counts.judge(
            &name("unrelated: parts reversed and shuffled"),
            &ticks(&parts.concat(), 1.0),
            &run.witnesses,
            None,
        );
    }
}

/// A load of some shape.
fn shape(shape: usize, n: usize, noise: &mut Noise) -> Vec<f64> {
    let (mut level, mut walk) = (100.0, 100.0f64);
    let period = 20.0 + 15.0 * (noise.next() + 1.0);
    let dip = ((noise.next() + 1.0) / 2.0 * (n - 30) as f64) as usize + 10;
    let mut value = |i: usize| {
        let loud = 1.0 + 0.04 * normal(noise);
        walk = (walk + 4.0 * normal(noise)).clamp(20.0, 200.0);
        if noise.next() > 0.93 {
            level = 100.0 + 50.0 * noise.next();
        }
        let ramp = (i as f64 / 12.0).min(1.0);
        loud * match shape {
            0 => 100.0,
            1 => 100.0 * ramp * if (dip..dip + 10).contains(&i) { 0.3 } else { 1.0 },
            2 => level * ramp,
            3 => walk,
            4 => 100.0 + 50.0 * (i as f64 * std::f64::consts::TAU / period).sin(),
            _ => 100.0 * if (i as f64 % period) < 4.0 { 0.2 } else { 1.0 },
        }
    };
    (0..n).map(&mut value).collect()
}

const SHAPES: [&str; 6] = ["flat", "ramp and one dip", "phases", "random walk", "sine", "periodic dips"];

/// What a JVM does whose load is `work` from `at` on: collections when 150 units of work have
/// filled the young generation, events for each unit in some, and events of its own.
fn jvm(work: &[f64], at: usize, of_its_own: f64, noise: &mut Noise) -> Vec<Witness> {
    let n = work.len() + 2 * at;
    let (mut allocated, mut events) = (0.0, 0.0);
    let (mut allocation, mut waits) = (vec![(0.0, 0.0)], vec![(0.0, 0.0)]);
    for i in 0..n {
        let done = i.checked_sub(at).and_then(|i| work.get(i)).copied().unwrap_or(2.0);
        let own = |noise: &mut Noise| (1.0 + of_its_own * normal(noise)).max(0.1);
        allocated += done * own(noise);
        events += done * own(noise);
        if allocated - allocation.last().unwrap().1 > 150.0 {
            allocation.push((i as f64 + 1.0, allocated));
        }
        waits.push((i as f64 + 1.0, events));
    }
    let witness = |what, sums| Witness { what, process: Some(ProcessId(0)), either_way: false, sums };
    vec![witness("allocation", allocation), witness("lock.park", waits)]
}

fn made_up(counts: &mut Counts, often: u64) {
    for (i, name) in SHAPES.iter().enumerate() {
        for seed in 0..often {
            let mut noise = Noise(7_000 + 100 * i as u64 + seed);
            let work = shape(i, 200, &mut noise);
            // Shorter than the load, so that not even begin and end fit.
            let other = shape(i, 150, &mut noise);
            let witnesses = jvm(&work, 40, 0.05, &mut noise);
            counts.judge(&format!("made up: {name}"), &ticks(&work, 1.0), &witnesses, Some(40.0));
            counts.judge(&format!("unrelated, made up: {name}, both"), &ticks(&other, 1.0), &witnesses, None);
            let j = (i + 1 + seed as usize) % SHAPES.len();
            let other = shape(j, 150, &mut noise);
            counts.judge(
                &format!("unrelated, made up: {name}, and another"),
                &ticks(&other, 1.0),
                &witnesses,
                None,
            );
        }
    }
}

fn all(often: u64) -> Counts {
    let runs = [from_logs(), live()];
    let mut counts = Counts::default();
    for (run, other) in [(&runs[0], &runs[1]), (&runs[1], &runs[0])] {
        real(&mut counts, run, often);
        for clients in other.clients.iter().cloned().chain([sum(&other.clients)]) {
            let case = format!("{}: unrelated: the other run's clients", run.name);
            counts.judge(&case, &ticks(&clients, 1.0), &run.witnesses, None);
        }
    }
    made_up(&mut counts, (3 * often).max(2));
    counts
}

#[test]
fn a_table_is_placed_right_or_not_at_all() {
    let counts = all(0);
    counts.print();
    assert_eq!(counts.wrong(), 0);
    for run in ["logs of GC and JIT", "live recording"] {
        for case in ["as it is", "one client alone", "one JVM missing"] {
            let count = &counts.0[&format!("{run}: {case}")];
            assert!(count.not == 0, "{run}: {case}: {count:?}");
        }
    }
}

#[test]
#[ignore = "minutes; the table of docs/alignment.md"]
fn the_whole_table() {
    let counts = all(10);
    counts.print();
    assert_eq!(counts.wrong(), 0);
}
