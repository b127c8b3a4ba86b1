//! Time of several sorts below one method.

use super::*;

/// Half of the workers wait for the disk and half for a peer, `(usual, slow)` milliseconds of each
/// tenth of a second, in methods that one other method calls.
fn diagnosis(disk: (i64, i64), network: (i64, i64)) -> Diagnosis {
    let mut service = Service::of((300.0, 100.0));
    let flush = [
        ("ext4_sync_file", FrameType::Kernel),
        ("shop.Index.flush", FrameType::C2),
        ("shop.Segment.close", FrameType::C2),
        ("shop.Orders.add", FrameType::C2),
    ];
    let send = [
        ("ksys_read", FrameType::Kernel),
        ("sun.nio.ch.NioSocketImpl.read", FrameType::C2),
        ("shop.Replica.send", FrameType::C2),
        ("shop.Segment.close", FrameType::C2),
        ("shop.Orders.add", FrameType::C2),
    ];
    for i in 0..4 {
        let writer = service.thread(&format!("writer-{i}"));
        service.off(writer, &flush, disk, &[]);
        let sender = service.thread(&format!("sender-{i}"));
        service.off(sender, &send, network, &[(label::PEER, "10.0.0.7:5432")]);
    }
    service.diagnosis()
}

#[test]
fn time_of_several_sorts_is_named_by_the_method_below_which_all_of_it_is() {
    let several = diagnosis((2, 50), (2, 45));
    let first = found(&several);
    first.title.states(&facts::SPENT_BELOW, &[("method", "shop.Segment.close")]);
    assert_eq!(
        first.title.fact().find(&facts::SPENT_BELOW).unwrap().detail("sorts").unwrap().parts().len(),
        2
    );
    assert!(first.share.is_some_and(|share| share > 0.9), "{:?}", first.share);
}

#[test]
fn what_is_nearly_all_of_one_sort_is_a_part_of_its_own() {
    let one = diagnosis((2, 80), (2, 8));
    assert_eq!(found(&one).title.fact().find(&facts::SPENT_BELOW), None);
}
