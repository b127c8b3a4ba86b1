use super::*;

#[test]
fn a_wait_is_read_with_the_number_of_its_thread_and_not_without() {
    let mut bytes = vec![0_u8; NUMBER_AT + 8];
    bytes[0] = 7;
    bytes[68] = 1;
    bytes[NUMBER_AT] = 31;
    let wait = Wait::parse(&bytes).unwrap();
    assert_eq!(
        (wait.event.off_ns, wait.number, name_of(wait.number).as_str()),
        (7, 31, "virtual thread #31")
    );
    assert!(Wait::parse(&bytes[..NUMBER_AT]).is_none());
}
