//! Flags of live JVMs, compared with `jcmd VM.flags -all`.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod jvm;

use fathom_hotspot::Vm;
use fathom_hotspot::flags::{Flags, Origin};
use jvm::Jvm;

#[test]
fn all_flags_their_values_and_origins_are_those_of_jcmd() {
    if !jvm::may_trace() {
        return;
    }
    for jdk in jvm::jdks() {
        let Some(jvm) = Jvm::start(&jdk, &["-XX:+UseSerialGC", "-XX:MaxHeapFreeRatio=71"], &["Idle"]) else {
            return;
        };
        let vm = Vm::open(jvm.pid()).unwrap();
        let flags = Flags::read(&vm).unwrap();
        assert_eq!(flags.skipped, 0);
        assert_eq!(flags.get("UseSerialGC").unwrap().origin, Origin::CommandLine);
        assert_eq!(flags.get("MaxHeapFreeRatio").unwrap().value.to_string(), "71");
        let Some(text) = jvm.jcmd(&["VM.flags", "-all"]) else { return };
        let mut agreeing = 0;
        // `   uintx MaxHeapFreeRatio    = 71     {manageable} {command line}`; on JDK 8 ":=" and no origin.
        for line in text.lines().filter(|line| line.contains('{')) {
            let (left, right) = line.split_once('=').unwrap();
            let name = left.trim_end_matches([' ', ':']).rsplit(' ').next().unwrap();
            let (value, kinds) = right.rsplit_once(if jdk.release == 8 { "{" } else { "} {" }).unwrap();
            let value = value.rsplit_once(" {").map_or(value, |(value, _)| value).trim();
            let found = flags.get(name).unwrap_or_else(|| panic!("{}: {name} is missing", vm.release));
            assert_eq!(found.value.to_string().trim(), value, "{}: {name}", vm.release);
            if jdk.release > 8 {
                // "command line, ergonomic": set there, then changed.
                let origin = kinds.trim_end_matches('}').rsplit(", ").next().unwrap();
                assert_eq!(found.origin.text(), origin, "{}: {name}", vm.release);
            } else {
                let is_default = !left.ends_with(':');
                assert_eq!(found.origin == Origin::Default, is_default, "{}: {name}", vm.release);
            }
            agreeing += 1;
        }
        eprintln!("{}: {agreeing} of {} flags agree with jcmd", vm.release, flags.iter().len());
        // The JVM does not print the diagnostic and experimental ones unless they are unlocked.
        assert!(agreeing > 400, "{agreeing}");
    }
}
