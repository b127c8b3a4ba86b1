//! Every collector starts on this machine, with the constants and shared tables that it has in a
//! recording: the verifier takes their programs. Needs root and eBPF; skips loudly without.

#![allow(clippy::unwrap_used)]

use std::process::Command;
use std::time::Duration;

use fathom_capture::{
    COLLECTORS, CaptureEngine, Limits, Selection, Session, Settings, Signals, Targets, check,
};
use fathom_recording::{Overwrite, Writer};

/// Half of what the kernel's verifier looks at before it gives up.
const ROOM: u32 = 500_000;

/// A second program on one of the dispatcher's four tracepoints costs every system call or switch
/// of the host.
fn only_the_dispatcher_is_on_its_tracepoints() {
    let files = std::fs::read_dir("/proc/self/fdinfo").unwrap();
    let links: String = files.filter_map(|file| std::fs::read_to_string(file.ok()?.path()).ok()).collect();
    for tracepoint in ["sys_enter", "sys_exit", "sched_switch", "sched_waking"] {
        let line = format!("tp_name:\t{tracepoint}");
        assert_eq!(links.lines().filter(|of_link| *of_link == line).count(), 1, "programs on {tracepoint}");
    }
}

/// Starts all collectors of the eBPF engine on what `selection` names, and stops them.
fn start_all(selection: Selection) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("r.fathom");
    let mut writer = Writer::create(&place, Overwrite::Never).unwrap();
    let targets = Targets::find(selection).unwrap();
    let runs_here = |entry: &&fathom_capture::Entry| entry.engine != CaptureEngine::Jfr;
    let all: Vec<&str> = COLLECTORS.iter().filter(runs_here).map(|entry| entry.id).collect();
    let settings = Settings {
        min_ns: Some(5_000_000),
        syscalls: vec!["futex".to_owned()],
        probes: vec!["tracepoint:sched:sched_process_exit".parse().unwrap()],
        engine: Some(CaptureEngine::Ebpf),
        with: all.iter().map(|id| (*id).to_owned()).collect(),
        ..Settings::default()
    };
    let limits = Limits { duration: Some(Duration::from_secs(1)), max_bytes: 1 << 30, place: place.clone() };
    let session = Session::start(targets, settings, limits, &mut writer).unwrap();
    let unseen = session.unseen(&mut writer);
    for program in libbpf_rs::query::ProgInfoIter::default().filter(|p| p.verified_insns > 10_000) {
        let (name, looked) = (program.name.to_string_lossy(), program.verified_insns);
        eprintln!("{name}: the verifier looked at {looked} instructions");
        assert!(looked < ROOM, "{name}: {looked}");
    }
    only_the_dispatcher_is_on_its_tracepoints();
    let working: Vec<&str> = session.collectors().collect();
    let failed: Vec<_> = all.iter().filter(|id| !working.contains(id)).collect();
    assert!(failed.is_empty(), "{failed:?} did not start: {unseen:#?}");
    let refused: Vec<_> = unseen.iter().filter(|unseen| unseen.why.contains("eBPF program failed")).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    session.stop(fathom_capture::Ended::Interrupted, &mut writer).unwrap();
}

#[test]
fn every_collector_starts_for_one_process_and_for_the_whole_host() {
    if let Err(why) = check::ebpf() {
        fathom_testing::skip(&format!("{}: {}", why.what, why.why));
        return;
    }
    let _signals = Signals::take_over().unwrap();
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    start_all(Selection::Pids(vec![child.id().cast_signed()]));
    start_all(Selection::All);
    child.kill().unwrap();
    child.wait().unwrap();
}
