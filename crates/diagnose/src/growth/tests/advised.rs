//! What is advised, by what was seen.

use super::*;
use crate::facts::remedies;
use fathom_recording::vocabulary::fact;

/// Waits on the network by a stack of which the innermost frames are these, on carriers.
fn finding(jdk: &str, frames: &[(&str, FrameType)]) -> crate::Finding {
    let mut service = Service::of((300.0, 30.0));
    service.built.fact(fact::JDK, jdk);
    for i in 0..2 {
        let name = format!("ForkJoinPool-1-worker-{i}");
        let carrier = service.built.recording.thread(service.built.jvm, Some(70 + i), &name, Role::App);
        service.row(kind::SCHED_WATCHED, carrier, (0, 60_000), None, &[]);
        service.off(carrier, frames, (3, 95), &[(label::PEER, "10.0.0.7:5432")]);
    }
    found(&service.diagnosis()).clone()
}

#[test]
fn where_monitors_do_not_pin_a_later_jdk_is_not_advised() {
    let mut pinned = READ.to_vec();
    pinned.push(("java.lang.VirtualThread.run", FrameType::C2));
    let first = |jdk: &str| finding(jdk, &pinned).remedies.remove(0).change;
    first("21").states(&remedies::NO_PINNING_MONITORS, &[]);
    first("25").states(&remedies::NO_WAITS_ON_CARRIERS, &[]);
}

#[test]
fn where_connect_waits_it_is_said_that_each_call_connects_anew() {
    let connects = [
        ("inet_stream_connect", FrameType::Kernel),
        ("sun.nio.ch.NioSocketImpl.connect", FrameType::C2),
        ("shop.Carrier.ask", FrameType::C2),
    ];
    let connects = finding("17", &connects);
    connects.remedies[0].change.states(&remedies::CONNECT_ONCE, &[]);
    assert!(!connects.advises(&remedies::LOOK_AT_PEER), "{:?}", connects.remedies);
    assert!(finding("17", &READ).advises(&remedies::LOOK_AT_PEER));
}
