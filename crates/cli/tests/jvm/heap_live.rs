//! `fathom heap -p PID` against the JVM's own histogram, which counts dead objects too with `-all`.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use crate::live::jdks;
use crate::live::process::Talking;

fn filled(home: &Path, classes: &Path, options: &[&str], megabytes: &str) -> Talking {
    let mut java = Command::new(home.join("bin/java"));
    java.args(options).arg("-cp").arg(classes).args(["Filled", megabytes]);
    Talking::start(&mut java)
}

/// Bytes by class as the JVM counts them, written as in Java; what it fills gaps with left out.
fn counted(pid: &str) -> HashMap<String, f64> {
    let attach = fathom_hotspot::attach::Attach::to(pid.parse().unwrap()).unwrap();
    let reported = attach.jcmd("GC.class_histogram -all").unwrap();
    let mut by_class: HashMap<String, f64> = HashMap::new();
    for line in reported.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [number, _, bytes, class, ..] = words[..] else { continue };
        let (true, Ok(bytes)) = (number.ends_with(':'), bytes.parse::<f64>()) else { continue };
        let dimensions = class.bytes().take_while(|byte| *byte == b'[').count();
        let element = match &class[dimensions..] {
            name if dimensions == 0 => name,
            "B" => "byte",
            "C" => "char",
            "I" => "int",
            "J" => "long",
            name => name.trim_start_matches('L').trim_end_matches(';'),
        };
        *by_class.entry(element.to_owned() + &"[]".repeat(dimensions)).or_default() += bytes;
    }
    by_class
}

/// Whether the JVM fills gaps with it, before it counts.
fn fills_gaps(class: &str) -> bool {
    class == "int[]" || class.contains("Filler")
}

#[test]
#[ignore = "make test-long"]
fn each_of_the_largest_classes_is_as_large_as_the_jvm_says() {
    let classes = tempfile::tempdir().unwrap();
    if jdks::compile(classes.path(), 8, &["Filled"]).is_none() {
        return;
    }
    for (release, home) in jdks::of(&[11, 17, 21, 25]) {
        let mut settings: Vec<&[&str]> = vec![
            &["-XX:+UseG1GC", "-Xmx300m"],
            &["-XX:+UseParallelGC", "-Xmx300m"],
            &["-XX:+UseSerialGC", "-Xmx300m"],
            &["-XX:+UseG1GC", "-Xmx300m", "-XX:-UseCompressedOops"],
        ];
        if release >= 25 {
            settings.push(&["-XX:+UseG1GC", "-Xmx300m", "-XX:+UseCompactObjectHeaders"]);
        }
        for options in settings {
            let reported = format!("JDK {release} {options:?}");
            let program = filled(&home, classes.path(), options, "60");
            // From JDK 20 on G1 leaves dead objects of regions that it has marked out of its own
            // histogram before they are collected: there both count what is left of a collection.
            if release >= 20 {
                let attach = fathom_hotspot::attach::Attach::to(program.pid().parse().unwrap()).unwrap();
                attach.jcmd("GC.run").unwrap();
            }
            // A collection that still runs when the program is quiet frees memory between two
            // readings: the JVM's lies between one of ours before it and one behind.
            let read =
                || crate::live::json(Path::new("."), &["heap", "-p", &program.pid(), "--top", "100000"]);
            let before = read();
            let theirs = counted(&program.pid());
            let ours = read();
            let heap: f64 = theirs.values().sum();
            let used = ours["used_bytes"].as_f64().unwrap();
            let of = |reading: &serde_json::Value, class: &str| {
                let mut rows = reading["classes"].as_array().unwrap().iter();
                rows.find(|row| row["class"] == class).map_or(0.0, |row| row["bytes"].as_f64().unwrap())
            };
            let mut largest: Vec<(&String, &f64)> =
                theirs.iter().filter(|(class, _)| !fills_gaps(class)).collect();
            largest.sort_by(|a, b| b.1.total_cmp(a.1));
            for (class, bytes) in largest.into_iter().take(20) {
                let (first, last) = (of(&before, class), of(&ours, class));
                assert!(
                    first.min(last) - 0.01 * heap <= *bytes && *bytes <= first.max(last) + 0.01 * heap,
                    "{reported}: {class}: {first} B and {last} B, the JVM says {bytes} of {heap} B, used {used}"
                );
            }
            let skipped = ours["skipped_bytes"].as_f64().unwrap();
            assert!(skipped <= 0.01 * used, "{reported}: {skipped} of {used} B skipped");
        }
    }
}

#[test]
fn stacks_of_virtual_threads_are_as_large_as_the_jvm_says_running_and_in_a_dump() {
    const STACK: &str = "jdk.internal.vm.StackChunk";
    let classes = tempfile::tempdir().unwrap();
    if jdks::compile(classes.path(), 11, &["Parked"]).is_none() {
        return;
    }
    for (release, home) in jdks::of(&[21, 25]) {
        let mut settings: Vec<&[&str]> =
            vec![&["-XX:+UseG1GC"], &["-XX:+UseSerialGC", "-XX:-UseCompressedOops"]];
        if release >= 25 {
            settings.push(&["-XX:+UseParallelGC", "-XX:+UseCompactObjectHeaders"]);
        }
        for options in settings {
            let mut java = Command::new(home.join("bin/java"));
            java.arg("-Xmx300m").args(options).arg("-cp").arg(classes.path()).args(["Parked", "3000"]);
            let program = Talking::start(&mut java);
            let dir = tempfile::tempdir().unwrap();
            let running = crate::live::json(dir.path(), &["heap", "-p", &program.pid(), "--top", "100000"]);
            let theirs = counted(&program.pid())[STACK];
            let dump = ["heap", "-p", &program.pid(), "--dump", "it.hprof", "--top", "100000"];
            let dumped = crate::live::json(dir.path(), &dump);
            crate::live::json(dir.path(), &["heap", "it.hprof", "--redacted", "copy.hprof"]);
            let copy = crate::live::json(dir.path(), &["heap", "copy.hprof", "--top", "100000"]);
            let bytes = |screen: &serde_json::Value, class: &str, bytes: &str| {
                let mut rows = screen["classes"].as_array().unwrap().iter();
                rows.find(|row| row[class] == STACK).map_or(0.0, |row| row[bytes].as_f64().unwrap())
            };
            let reported = format!("JDK {release} {options:?}: the JVM says {theirs} B");
            // 50 words each at least.
            assert!(theirs > 3000.0 * 400.0, "{reported}");
            assert_eq!(bytes(&running, "class", "bytes"), theirs, "{reported}");
            assert_eq!(bytes(&dumped, "name", "shallow_bytes"), theirs, "{reported}");
            assert_eq!(copy["size"], dumped["size"], "{reported}");
            let skipped = running["skipped_bytes"].as_f64().unwrap();
            assert!(skipped <= 0.01 * running["used_bytes"].as_f64().unwrap(), "{reported}: {skipped} B");
        }
    }
}

#[test]
fn a_heap_that_is_not_walked_says_so_and_what_helps() {
    let classes = tempfile::tempdir().unwrap();
    if jdks::compile(classes.path(), 8, &["Filled"]).is_none() {
        return;
    }
    for (_, home) in jdks::of(&[17, 25]) {
        let program = filled(&home, classes.path(), &["-XX:+UseZGC", "-Xmx200m"], "10");
        let said = crate::live::said(&crate::live::fathom(Path::new("."), &["heap", "-p", &program.pid()]));
        assert!(said.contains("G1, Parallel and Serial") && said.contains("--dump"), "{said}");
    }
}

#[test]
fn readings_again_and_again_are_a_line_of_json_each_with_its_time() {
    let classes = tempfile::tempdir().unwrap();
    if jdks::compile(classes.path(), 8, &["Filled"]).is_none() {
        return;
    }
    for (release, home) in jdks::of(&[17, 25]) {
        let program = filled(&home, classes.path(), &["-XX:+UseSerialGC", "-Xmx100m"], "10");
        let mut command = Command::new(crate::live::FATHOM);
        command.args(["heap", "-p", &program.pid(), "--every", "200ms", "--json", "--top", "3"]);
        let mut reading = Talking::spawn(&mut command).unwrap();
        let mut times = Vec::new();
        for _ in 0..3 {
            let line = reading.line().unwrap().to_owned();
            let one: serde_json::Value =
                serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
            assert_eq!(one["schema"], "fathom.heap-live/1", "JDK {release}");
            let at: jiff::Timestamp = one["at"].as_str().unwrap().parse().unwrap();
            times.push((at, one["at_s"].as_f64().unwrap()));
        }
        assert!(times.is_sorted() && times[2].1 >= 0.39, "JDK {release}: {times:?}");
        let now = jiff::Timestamp::now();
        assert!((now.as_second() - times[0].0.as_second()).abs() < 60, "JDK {release}: {times:?}");
    }
}
