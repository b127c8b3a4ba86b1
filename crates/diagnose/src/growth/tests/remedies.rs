//! What is advised, by what was seen.

use super::*;
use fathom_recording::vocabulary::fact;

/// Waits on the network by a stack of which the innermost frames are these, on carriers.
fn remedies(jdk: &str, frames: &[(&str, FrameType)]) -> Vec<crate::Remedy> {
    let mut service = Service::of((300.0, 30.0));
    service.built.fact(fact::JDK, jdk);
    for i in 0..2 {
        let name = format!("ForkJoinPool-1-worker-{i}");
        let carrier = service.built.recording.thread(service.built.jvm, Some(70 + i), &name, Role::App);
        service.row(kind::SCHED_WATCHED, carrier, (0, 60_000), None, &[]);
        service.off(carrier, frames, (3, 95), &[(label::PEER, "10.0.0.7:5432")]);
    }
    found(&service.diagnosis()).remedies.clone()
}

#[test]
fn where_monitors_do_not_pin_a_later_jdk_is_not_advised() {
    let mut pinned = READ.to_vec();
    pinned.push(("java.lang.VirtualThread.run", FrameType::C2));
    assert!(remedies("21", &pinned)[0].change.starts_with("JDK 24 or later"));
    let now = &remedies("25", &pinned)[0].change;
    assert!(!now.contains("JEP 491") && now.contains("class initialiser"), "{now}");
}

#[test]
fn where_connect_waits_it_is_said_that_each_call_connects_anew() {
    let connects = [
        ("inet_stream_connect", FrameType::Kernel),
        ("sun.nio.ch.NioSocketImpl.connect", FrameType::C2),
        ("shop.Carrier.ask", FrameType::C2),
    ];
    let all = remedies("17", &connects);
    assert!(all[0].change.contains("connects anew"), "{all:?}");
    assert!(all.iter().all(|remedy| !remedy.change.contains("shared among threads")), "{all:?}");
    assert!(remedies("17", &READ)[0].change.contains("look at the peer"));
}
