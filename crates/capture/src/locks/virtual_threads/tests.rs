use super::*;

#[test]
fn a_wait_has_the_number_of_its_thread() {
    let mut sent = virtual_wait { number: 31, ..virtual_wait::default() };
    assert!(Wait::of(&sent).is_none());
    (sent.wait.off_ns, sent.wait.kind) = (7, 1);
    let wait = Wait::of(&sent).unwrap();
    assert_eq!(
        (wait.event.off_ns, wait.number, name_of(wait.number).as_str()),
        (7, 31, "virtual thread #31")
    );
}
