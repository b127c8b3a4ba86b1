//! `fathom heap` on dumps of real JVMs of each release, with what holds their memory planted.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::live::jdks;
use crate::live::process::Talking;

/// A program of `tests/java/Holders.java` on a JDK, and what fathom says of its dump.
struct Dumped {
    screen: Value,
    program: Talking,
    dir: tempfile::TempDir,
}

fn dumped(home: &Path, classes: &Path, case: &str, options: &[&str]) -> Dumped {
    dumped_of(home, classes, "Holders", case, options)
}

fn dumped_of(home: &Path, classes: &Path, program: &str, case: &str, options: &[&str]) -> Dumped {
    let dir = tempfile::tempdir().unwrap();
    let mut java = Command::new(home.join("bin/java"));
    java.arg("-Xmx512m").args(options).arg("-cp").arg(classes).args([program, case]).arg(classes);
    let program = Talking::start(&mut java);
    let screen = crate::live::json(dir.path(), &["heap", "-p", &program.pid(), "--dump", "it.hprof"]);
    Dumped { screen, program, dir }
}

impl Dumped {
    fn holder(&self) -> &Value {
        &self.screen["holders"]["all"][0]
    }

    fn fathom(&self, args: &[&str]) -> String {
        let output = crate::live::fathom(self.dir.path(), &[&["heap", "it.hprof"], args].concat());
        assert!(output.status.success(), "{args:?}: {}", crate::live::said(&output));
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Calls back with each JDK and the compiled program.
fn on_each(test: impl Fn(u64, &Path, &Path)) {
    let classes = tempfile::tempdir().unwrap();
    if jdks::compile(classes.path(), 8, &["Holders"]).is_none() {
        return;
    }
    for (release, home) in jdks::of(&[8, 11, 17, 21, 25]) {
        test(release, &home, classes.path());
    }
}

/// What is planted, where it must be found, what must be said of its entries, and why it is
/// suspected.
const PLANTED: [(&str, &str, &str, u64, &str); 7] = [
    ("static-map", "Holders$Sessions.OPEN", "Holders$Session", 60_000, "unbounded-entries"),
    ("queue", "Holders.WORK", "Holders$Session", 50_000, "unbounded-entries"),
    ("cache", "Holders.PAGES", "byte[]", 20_000, "unbounded-entries"),
    ("listeners", "Holders.BUS", "Holders$View", 15_000, "unbounded-entries"),
    ("loaders", "Holders.KEPT", "class HoldersPlugin", 30, "repeated-loaders"),
    ("thread-local", "", "byte[]", 320, "thread-locals"),
    ("finalizers", "", "Holders$Finished", 2990, "finalizers"),
];

#[test]
fn the_holder_that_was_planted_is_the_first_and_its_entries_are_counted() {
    on_each(|release, home, classes| {
        for (case, field, class, count, suspicion) in PLANTED {
            let dumped = dumped(home, classes, case, &[]);
            let holder = dumped.holder();
            let reported = format!("JDK {release}, {case}: {holder:#}");
            assert!(holder["static_field"].as_str().unwrap_or("").starts_with(field), "{reported}");
            assert_eq!(holder["entries"]["class"], class, "{reported}");
            let entries = holder["entries"]["count"].as_u64().unwrap();
            match case {
                "finalizers" => assert!(entries.abs_diff(count) <= count / 100, "{reported}"),
                _ => assert_eq!(entries, count, "{reported}"),
            }
            assert_eq!(holder["suspicion"], suspicion, "{reported}");
            assert!(holder["share"].as_f64().unwrap() > 0.5, "{reported}");
            if case == "thread-local" {
                assert_eq!(holder["thread_local"], "Holders.SCRATCH", "{reported}");
                let name = |i: usize| holder["threads"][i].as_str().unwrap_or("").to_owned();
                assert_eq!(
                    (name(0), name(7)),
                    ("pool-1-thread-1".into(), "pool-1-thread-8".into()),
                    "{reported}"
                );
            }
            if case == "finalizers" {
                // The list begins in a static field; where its first nodes go round, the class
                // itself is what keeps all of them.
                assert!(holder["class"].as_str().unwrap().ends_with("java.lang.ref.Finalizer"), "{reported}");
                let waiting = dumped.screen["references"]["finalizer_queue"].as_u64().unwrap();
                // JDK 8 has finalizers of its own: files, streams.
                assert!((2900..=3100).contains(&waiting), "{release}: {waiting}");
            }
        }
    });
}

#[test]
fn a_cache_that_evicts_and_a_healthy_heap_are_no_suspects() {
    on_each(|release, home, classes| {
        let bounded = dumped(home, classes, "bounded", &[]);
        let holder = bounded.holder();
        assert_eq!(holder["entries"]["count"], 20_000, "JDK {release}: {holder:#}");
        assert_eq!(holder["bound"]["class"], "Holders$Recent", "JDK {release}: {holder:#}");
        let queue = dumped(home, classes, "bounded-queue", &[]);
        assert_eq!(queue.holder()["bound"]["name"], "capacity", "JDK {release}: {:#}", queue.holder());
        let view = dumped(home, classes, "bounded-view", &[]);
        assert_eq!(view.holder()["bound"]["class"], "Holders$Recent", "JDK {release}: {:#}", view.holder());
        for dumped in [bounded, queue, view, dumped(home, classes, "healthy", &[])] {
            let holders = dumped.screen["holders"]["all"].as_array().unwrap();
            assert!(
                holders.iter().all(|holder| holder["suspicion"].is_null()),
                "JDK {release}: {holders:#?}"
            );
            let text = dumped.fathom(&[]);
            assert!(!text.contains("leak") && !text.contains(" suspect:"), "JDK {release}: {text}");
        }
    });
}

#[test]
fn a_set_of_texts_is_named_with_texts_and_as_many_as_it_counts() {
    let classes = tempfile::tempdir().unwrap();
    if jdks::compile(classes.path(), 8, &["Bounds"]).is_none() {
        return;
    }
    for (release, home) in jdks::of(&[8, 25]) {
        let dumped = dumped_of(&home, classes.path(), "Bounds", "texts", &[]);
        let holder = dumped.holder();
        let reported = format!("JDK {release}: {holder:#}");
        assert_eq!(
            (&holder["class"], &holder["static_field"]),
            (&"java.util.HashSet".into(), &"Bounds.held".into()),
            "{reported}"
        );
        assert_eq!(holder["entries"]["class"], "java.lang.String", "{reported}");
        assert_eq!(holder["entries"]["count"], 20_001, "{reported}");
        let text = dumped.fathom(&[]).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("1 MB 1,048,576 B"), "{text}");
    }
}

#[test]
fn loaders_of_plugins_that_were_deployed_again_are_named_with_what_keeps_them() {
    let classes = tempfile::tempdir().unwrap();
    if jdks::compile(classes.path(), 8, &["Loaders"]).is_none() {
        return;
    }
    for (release, home) in jdks::of(&[8, 25]) {
        for (case, count) in
            [("instances", 30), ("wrappers-few", 5), ("wrappers", 30), ("threads", 30), ("threads-few", 5)]
        {
            let dumped = dumped_of(&home, classes.path(), "Loaders", case, &[]);
            let holder = dumped.holder();
            let reported = format!("JDK {release}, {case}: {holder:#}");
            assert_eq!(holder["suspicion"], "repeated-loaders", "{reported}");
            assert_eq!(holder["loaders"]["class"], "Loaders$PluginLoader", "{reported}");
            assert_eq!(holder["loaders"]["repeated"], "LoadersPlugin", "{reported}");
            assert_eq!(holder["loaders"]["count"], count, "{reported}");
            match case.starts_with("threads") {
                true => assert_eq!(holder["threads"].as_array().unwrap().len(), count, "{reported}"),
                false => assert_eq!(holder["static_field"], "Loaders.KEPT", "{reported}"),
            }
        }
    }
}

/// What bounds it, and nothing where it grows without end.
const BOUNDS: [(&str, &str); 9] = [
    ("array-queue", "array"),
    ("ring", "array"),
    ("recent", "field"),
    ("capped", "field"),
    ("soft", "soft"),
    ("soft-whole", "soft"),
    ("growing", ""),
    ("copied", ""),
    ("opened", ""),
];

#[test]
fn a_bound_is_seen_by_what_is_filled_and_not_by_one_name() {
    let classes = tempfile::tempdir().unwrap();
    if jdks::compile(classes.path(), 8, &["Bounds"]).is_none() {
        return;
    }
    for (release, home) in jdks::of(&[8, 25]) {
        for (case, by) in BOUNDS {
            let dumped = dumped_of(&home, classes.path(), "Bounds", case, &[]);
            let holder = dumped.holder();
            let reported = format!("JDK {release}, {case}: {holder:#}");
            assert_eq!(holder["bound"]["by"].as_str().unwrap_or(""), by, "{reported}");
            assert_eq!(holder["suspicion"].is_null(), !by.is_empty(), "{reported}");
        }
    }
}

#[test]
fn what_a_static_field_holds_is_its_own_though_a_method_was_at_work_on_it_when_memory_ran_out() {
    let classes = tempfile::tempdir().unwrap();
    if jdks::compile(classes.path(), 8, &["Exhausted"]).is_none() {
        return;
    }
    for (release, home) in jdks::of(&[8, 17, 25]) {
        for case in ["static", "local"] {
            let dir = tempfile::tempdir().unwrap();
            let mut java = Command::new(home.join("bin/java"));
            java.args(["-Xmx48m", "-XX:+HeapDumpOnOutOfMemoryError", "-XX:HeapDumpPath=it.hprof", "-cp"]);
            let ended = java.arg(classes.path()).args(["Exhausted", case]).current_dir(dir.path()).output();
            assert!(!ended.unwrap().status.success());
            let screen = crate::live::json(dir.path(), &["heap", "it.hprof"]);
            let holder = &screen["holders"]["all"][0];
            let reported = format!("JDK {release}, {case}: {holder:#}");
            let output = crate::live::fathom(dir.path(), &["heap", "it.hprof"]);
            let text = String::from_utf8(output.stdout).unwrap().replace('\n', " ");
            if case == "static" {
                assert_eq!(holder["static_field"], "Exhausted.ORDERS", "{reported}");
                let held: Vec<&str> =
                    holder["held_by"].as_array().unwrap().iter().flat_map(|by| by["by"].as_str()).collect();
                assert!(held.first() == Some(&"static") && held.contains(&"local"), "{reported}");
                assert!(
                    text.contains("in Exhausted.ORDERS (static) and in local variables of Exhausted.take("),
                    "{text}"
                );
            } else {
                assert_eq!(holder["threads"][0], "main", "{reported}");
                assert!(text.contains("local variable of Exhausted.take(Exhausted.java:"), "{text}");
            }
        }
    }
}

#[test]
fn direct_buffers_are_charged_to_who_keeps_them_and_slices_do_not_count() {
    on_each(|release, home, classes| {
        let dumped = dumped(home, classes, "direct", &[]);
        let owners = dumped.screen["buffers"]["owners"].as_array().unwrap();
        let owner = &owners[0];
        assert_eq!(
            (&owner[0], &owner[1]),
            (&"Holders.KEPT (static)".into(), &20.into()),
            "JDK {release}: {owners:?}"
        );
        assert_eq!(owner[2], 20 << 20, "JDK {release}: {owners:?}");
    });
}

/// Classes and their objects and bytes, as the JVM counts them.
fn histogram(program: &Talking) -> Vec<(String, u64, u64)> {
    let attach = fathom_hotspot::attach::Attach::to(program.pid().parse().unwrap()).unwrap();
    let reported = attach.jcmd("GC.class_histogram").unwrap();
    let row = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let (objects, bytes) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some((words.next()?.to_owned(), objects, bytes))
    };
    reported.lines().filter_map(row).collect()
}

#[test]
fn objects_are_as_large_as_the_jvm_says_whatever_its_layout() {
    on_each(|release, home, classes| {
        let mut layouts: Vec<&[&str]> = vec![&[], &["-XX:-UseCompressedOops"], &["-XX:+UseParallelGC"]];
        if release >= 25 {
            layouts.extend([&["-XX:+UseCompactObjectHeaders"][..], &["-XX:+UseZGC"]]);
        }
        for options in layouts {
            let dumped = dumped(home, classes, "static-map", &[options, &["-Xmx1g"]].concat());
            let rows = crate::live::json(dumped.dir.path(), &["heap", "it.hprof", "--top", "100000"]);
            let rows = rows["classes"].as_array().unwrap();
            let mut compared = 0;
            for (class, objects, bytes) in histogram(&dumped.program) {
                let name = match class.as_str() {
                    "[B" => "byte[]",
                    "[C" => "char[]",
                    "[I" => "int[]",
                    name if name.starts_with('[') => continue,
                    name => name,
                };
                let Some(row) = rows.iter().find(|row| row["name"] == name) else { continue };
                // What the JVM itself allocates between dump and histogram is not ours to count;
                // its dead filler is arrays of int.
                if objects < 100 || row["objects"] != objects || name == "int[]" || name == "java.lang.Class"
                {
                    continue;
                }
                assert_eq!(row["shallow_bytes"], bytes, "JDK {release} {options:?}: {name}");
                compared += 1;
            }
            assert!(compared >= 5, "JDK {release} {options:?}: only {compared} classes could be compared");
        }
    });
}

#[test]
fn a_packed_dump_says_the_same_and_a_cut_one_what_was_there() {
    on_each(|release, home, classes| {
        let dumped = dumped(home, classes, "static-map", &[]);
        let plain = std::fs::read(dumped.dir.path().join("it.hprof")).unwrap();
        if release >= 17 {
            let attach = fathom_hotspot::attach::Attach::to(dumped.program.pid().parse().unwrap()).unwrap();
            let packed = dumped.dir.path().join("packed.hprof.gz");
            attach.jcmd(&format!("GC.heap_dump -gz=1 {}", packed.display())).unwrap();
            let packed = crate::live::json(dumped.dir.path(), &["heap", "packed.hprof.gz"]);
            assert_eq!(packed["about"]["packed"], true);
            assert_eq!(packed["holders"]["all"][0]["entries"]["count"], 60_000, "JDK {release}");
        }
        std::fs::write(dumped.dir.path().join("cut.hprof"), &plain[..plain.len() / 2]).unwrap();
        let cut = crate::live::json(dumped.dir.path(), &["heap", "cut.hprof"]);
        assert_eq!(cut["about"]["damage"]["truncated"], true, "JDK {release}");
        let objects = |screen: &Value| {
            screen["size"]["objects"].as_u64().unwrap()
                + screen["size"]["unreachable_objects"].as_u64().unwrap()
        };
        // JDK 17 writes the roots last.
        let held = cut["size"]["objects"].as_u64().unwrap() as f64 / objects(&cut) as f64;
        assert!(held > 0.9, "JDK {release}: {held}");
        let share = objects(&cut) as f64 / objects(&dumped.screen) as f64;
        assert!((0.2..0.9).contains(&share), "JDK {release}: {share}");
    });
}

#[test]
fn what_is_asked_further_leads_from_the_class_to_the_root_and_shows_values_only_when_asked_to() {
    let classes = tempfile::tempdir().unwrap();
    let Some(home) = jdks::compile(classes.path(), 8, &["Holders"]) else { return };
    let dumped = dumped(&home, classes.path(), "static-map", &[]);
    let dir = dumped.dir.path();
    let class = crate::live::json(dir, &["heap", "it.hprof", "--class", "Holders$Session"]);
    assert_eq!(
        (&class["sum"]["objects"], &class["superclasses"][0]),
        (&60_000.into(), &"java.lang.Object".into())
    );
    let address = format!("{:#x}", class["largest"][0]["address"].as_u64().unwrap());
    let paths = dumped.fathom(&["--paths", &address]);
    assert!(
        paths.contains("Holders$Sessions.OPEN (static) → java.util.concurrent.ConcurrentHashMap"),
        "{paths}"
    );
    assert!(paths.contains(".val → Holders$Session"), "{paths}");
    let object = crate::live::json(dir, &["heap", "it.hprof", "--object", &address]);
    let user = object["members"].as_array().unwrap().iter().find(|member| member["name"] == "user").unwrap();
    let user = format!("{:#x}", user["object"]["address"].as_u64().unwrap());
    let hidden = dumped.fathom(&["--object", &user]);
    assert!(!hidden.contains("user-"), "{hidden}");
    let shown = dumped.fathom(&["--object", &user, "--show-values"]);
    assert!(shown.contains("value: user-"), "{shown}");
    for args in [&[][..], &["--class", "java.lang.String"], &["--paths", &user], &["--json"]] {
        assert!(!dumped.fathom(args).contains("user-"), "{args:?}");
    }
    let missing = crate::live::fathom(dir, &["heap", "it.hprof", "--class", "No.Such"]);
    assert!(crate::live::said(&missing).contains("no class No.Such"), "{}", crate::live::said(&missing));
    let short = crate::live::said(&crate::live::fathom(dir, &["heap", "it.hprof", "--class", "session"]));
    assert!(short.contains("similar: Holders$Session"), "{short}");
}

#[test]
fn what_grew_between_two_dumps_is_reported_by_where_it_is_kept() {
    let classes = tempfile::tempdir().unwrap();
    let Some(home) = jdks::compile(classes.path(), 8, &["Holders"]) else { return };
    let before = dumped(&home, classes.path(), "healthy", &[]);
    let after = dumped(&home, classes.path(), "static-map", &[]);
    let (a, b) = (before.dir.path().join("it.hprof"), after.dir.path().join("it.hprof"));
    let growth = crate::live::json(after.dir.path(), &["heap", a.to_str().unwrap(), b.to_str().unwrap()]);
    let chain: Vec<&str> =
        growth["chains"][0]["chain"].as_array().unwrap().iter().flat_map(Value::as_str).collect();
    assert!(chain.contains(&"class Holders$Sessions") && chain.contains(&"Holders$Session"), "{chain:?}");
    let sessions =
        growth["classes"].as_array().unwrap().iter().find(|class| class["class"] == "Holders$Session");
    assert_eq!(sessions.unwrap()["objects"][1], 60_000);
}

#[test]
fn a_dump_does_not_overwrite_and_says_before_and_after_how_long_the_jvm_is_stopped() {
    let classes = tempfile::tempdir().unwrap();
    let Some(home) = jdks::compile(classes.path(), 8, &["Holders"]) else { return };
    let dumped = dumped(&home, classes.path(), "healthy", &[]);
    let again = ["heap", "-p", &dumped.program.pid(), "--dump", "it.hprof"];
    let refused = crate::live::fathom(dumped.dir.path(), &again);
    assert!(crate::live::said(&refused).contains("there already"), "{}", crate::live::said(&refused));
    let other = ["heap", "-p", &dumped.program.pid(), "--dump", "other.hprof"];
    let done = crate::live::fathom(dumped.dir.path(), &other);
    let said = crate::live::said(&done);
    let (before, behind) =
        (said.find("its threads are stopped while"), said.find("its threads were stopped for"));
    assert!(before.is_some() && before < behind, "{said}");
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(dumped.dir.path().join("other.hprof")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
}

/// Whether some bytes have a text, a byte or two for each character.
fn has(data: &[u8], text: &str) -> bool {
    // The library's search is compiled for speed, and this test is not.
    let data = String::from_utf8_lossy(data);
    let wide: String = text.chars().flat_map(|character| ['\0', character]).collect();
    data.contains(text) || data.contains(&wide)
}

#[test]
fn a_redacted_copy_has_no_values_and_the_same_sizes_and_holders() {
    const SECRET: &str = "open-sesame-4711";
    const LITERAL: &str = "literal-of-the-program";
    /// SIGXFSZ on Linux, but for MIPS and PA-RISC.
    const XFSZ: i32 = 25;
    let classes = tempfile::tempdir().unwrap();
    if jdks::compile(classes.path(), 8, &["Holders"]).is_none() {
        return;
    }
    // Texts are of characters in the first, and of bytes in the other.
    for (release, home) in jdks::of(&[8, 25]) {
        let dumped = dumped(&home, classes.path(), "static-map", &["-Dplanted=open-sesame-4711"]);
        let dir = dumped.dir.path();
        assert!(has(&std::fs::read(dir.join("it.hprof")).unwrap(), SECRET), "JDK {release}: not planted");
        let done = crate::live::json(dir, &["heap", "it.hprof", "--redacted", "copy.hprof"]);
        assert_eq!(done["schema"], "fathom.heap-redacted/1");
        assert!(done["arrays"].as_u64().unwrap() > 1_000 && done["instances"].as_u64().unwrap() > 1_000);
        let copy = std::fs::read(dir.join("copy.hprof")).unwrap();
        assert!(!has(&copy, SECRET), "JDK {release}");
        // A literal of the program is a symbol of the JVM, and one that names nothing.
        assert!(has(&std::fs::read(dir.join("it.hprof")).unwrap(), LITERAL), "JDK {release}: no literal");
        assert!(!has(&copy, LITERAL) && done["texts"].as_u64().unwrap() > 100, "JDK {release}");
        assert!(has(&copy, "Holders$Sessions"), "JDK {release}: names are kept");
        let screen = crate::live::json(dir, &["heap", "copy.hprof"]);
        assert_eq!(
            (&screen["about"]["redacted"], &dumped.screen["about"]["redacted"]),
            (&true.into(), &false.into())
        );
        for part in ["size", "classes", "packages"] {
            assert_eq!(screen[part], dumped.screen[part], "JDK {release}: {part}");
        }
        let holders = |screen: &Value| -> Vec<(Value, Value)> {
            let all = screen["holders"]["all"].as_array().unwrap().iter();
            all.map(|holder| (holder["static_field"].clone(), holder["retained_bytes"].clone())).collect()
        };
        assert_eq!(holders(&screen), holders(&dumped.screen), "JDK {release}");
        assert_eq!(screen["waste"]["sparse_collections"], dumped.screen["waste"]["sparse_collections"]);
        assert_eq!(screen["waste"]["duplicate_arrays"], 0);
        // Nothing is replaced; and a packed copy is the same.
        let again = crate::live::fathom(dir, &["heap", "it.hprof", "--redacted", "copy.hprof"]);
        assert_eq!(again.status.code(), Some(2), "{}", crate::live::said(&again));
        assert!(crate::live::said(&again).contains("it is there already"), "{}", crate::live::said(&again));
        crate::live::json(dir, &["heap", "it.hprof", "--redacted", "copy.hprof.gz"]);
        let packed = crate::live::json(dir, &["heap", "copy.hprof.gz"]);
        assert_eq!((&packed["size"], &packed["about"]["packed"]), (&screen["size"], &true.into()));
        // What cannot be read is not copied.
        std::fs::write(dir.join("cut.hprof"), &copy[..copy.len() / 2]).unwrap();
        let cut = crate::live::fathom(dir, &["heap", "cut.hprof", "--redacted", "cut-copy.hprof"]);
        assert!(crate::live::said(&cut).contains("may be data") && !dir.join("cut-copy.hprof").exists());
        // The system kills who writes beyond its limit: in the middle of the copy.
        let killed = Command::new("sh")
            .args(["-c", "ulimit -c 0; ulimit -f 1000; exec \"$0\" heap it.hprof --redacted part.hprof"])
            .arg(env!("CARGO_BIN_EXE_fathom"))
            .current_dir(dir)
            .output()
            .unwrap();
        assert_eq!(killed.status.signal(), Some(XFSZ), "JDK {release}: {}", crate::live::said(&killed));
        assert!(!dir.join("part.hprof").exists(), "JDK {release}: a part of a copy has the copy's name");
    }
}
