//! Time of several sorts below one method.

use super::*;

/// Half of the workers wait in page faults and half for a peer, `(usual, slow)` milliseconds of
/// each tenth of a second, each in a method of its own that one other method calls.
fn diagnosis(fault: (i64, i64), network: (i64, i64)) -> Diagnosis {
    let mut service = Service::of((300.0, 100.0));
    for i in 0..3 {
        let (flush, send) = (format!("shop.Index{i}.flush"), format!("shop.Replica{i}.send"));
        let below = [("shop.Segment.close", FrameType::C2), ("shop.Orders.add", FrameType::C2)];
        let fault_frames =
            [("asm_exc_page_fault", FrameType::Kernel), (&*flush, FrameType::C2), below[0], below[1]];
        let read = [("ksys_read", FrameType::Kernel), ("sun.nio.ch.NioSocketImpl.read", FrameType::C2)];
        let network_frames = [read[0], read[1], (&*send, FrameType::C2), below[0], below[1]];
        let writer = service.thread(&format!("writer-{i}"));
        service.off(writer, &fault_frames, fault, &[]);
        let sender = service.thread(&format!("sender-{i}"));
        service.off(sender, &network_frames, network, &[(label::PEER, &format!("10.0.0.{i}:5432"))]);
    }
    service.diagnosis()
}

#[test]
fn time_of_several_sorts_is_named_by_the_method_below_which_all_of_it_is() {
    let several = diagnosis((2, 78), (2, 74));
    let first = found(&several);
    first.title.states(&facts::SPENT_BELOW, &[("method", "shop.Segment.close")]);
    assert_eq!(
        first.title.fact().find(&facts::SPENT_BELOW).unwrap().detail("sorts").unwrap().parts().len(),
        2
    );
    assert!(first.share.is_some_and(|share| share > 0.5), "{:?}", first.share);
}

#[test]
fn what_is_nearly_all_of_one_sort_is_a_part_of_its_own() {
    let one = diagnosis((2, 80), (2, 8));
    assert_eq!(found(&one).title.fact().find(&facts::SPENT_BELOW), None);
}

/// Threads wait for the disk in a method that they were hardly in before, and after that for a CPU,
/// for longer.
#[test]
fn waiting_for_a_cpu_where_threads_do_something_new_is_of_what_they_do_there() {
    let mut service = Service::of((300.0, 100.0));
    let force = [("ext4_sync_file", FrameType::Kernel), ("shop.Log.force", FrameType::C2)];
    for i in 0..4 {
        let thread = service.thread(&format!("writer-{i}"));
        let stack = service.stack(&force);
        for tenth in (0..600).filter(|tenth| is_slow(tenth / 10)) {
            let ends = (tenth * 100, tenth * 100 + 90);
            service.span(kind::SCHED_OFF, thread, ends, Some(stack), (&[(figure::RUNQ_NS, 60e6)], &[]));
        }
    }
    let diagnosis = service.diagnosis();
    let first = &diagnosis.findings[0];
    first.title.states(&facts::DOING, &[("value", "waiting for the disk"), ("place", "shop.Log.force")]);
    first.remedies[0].change.states(&remedies::LOOK_AT_FILE, &[]);
    assert!(first.share.is_some_and(|share| share > 0.8), "{:?}", first.share);
}
