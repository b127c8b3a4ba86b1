//! Whether a wait for the network is one for room to send: the other side takes in slowly what is
//! written.

use fathom_recording::FrameType::Kernel;
use fathom_recording::{Recording, StackId};

use super::parts::Part;
use crate::Case;

/// Functions of the kernel in which a thread sends (net/ipv4/tcp.c, net/core/stream.c,
/// net/socket.c).
const SENDS: [&str; 5] =
    ["sk_stream_wait_memory", "tcp_sendmsg_locked", "tcp_sendmsg", "sock_sendmsg", "sock_write_iter"];
/// Java methods around the wait that are looked at: from the wait to the call that the application
/// made.
const AROUND: usize = 14;
/// Packages of locks and queues, in which whoever waits for a selector waits.
const WAITS: [&str; 3] = ["java.util.concurrent.", "jdk.internal.misc.", "java.lang.Object.wait"];

/// The method that writes, where the longest wait of a part is one for room to send.
pub(super) fn sender<'a>(case: &Case<'a>, part: &Part<'_>) -> Option<&'a str> {
    let (_, thread, from, to) = part.longest?;
    let span = case.chains().off_between(thread, from, to).next()?;
    writes(case.recording, span.stack())
}

fn writes(recording: &Recording, stack: Option<StackId>) -> Option<&str> {
    let (mut java, mut kernel_sends) = (0, false);
    for frame in recording.frames_of(stack) {
        let name = frame.name();
        match frame.frame_type() {
            Kernel => kernel_sends |= SENDS.contains(&name),
            by if by.is_java() && !WAITS.iter().any(|package| name.starts_with(package)) => {
                let (class, method) = name.rsplit_once('.').unwrap_or(("", name));
                if kernel_sends || (is_writing(method) && is_of_output(class)) {
                    return Some(name);
                }
                java += 1;
                if is_reading(method) || java == AROUND {
                    return None;
                }
            }
            _ => {}
        }
    }
    None
}

/// A method that only writes. One that is called `send…` may wait for the answer as well: which of
/// both it does, only the kernel's frames show.
fn is_writing(method: &str) -> bool {
    ["write", "flush", "transferTo"].iter().any(|begin| method.starts_with(begin))
}

fn is_reading(method: &str) -> bool {
    ["read", "receive", "recv", "fill", "poll"].iter().any(|begin| method.starts_with(begin))
}

/// Whether a class writes to a connection, and not a queue that has a method of that name.
fn is_of_output(class: &str) -> bool {
    let simple = class.rsplit('.').next().unwrap_or(class);
    ["Output", "Channel", "EndPoint", "Socket", "Response", "Sink", "Stream"]
        .iter()
        .any(|word| simple.contains(word))
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType::{C2, Interpreted};
    use fathom_recording::{FrameType, Sink};

    use super::*;

    /// Innermost first.
    fn said(frames: &[(&str, FrameType)]) -> Option<String> {
        let mut recording = Recording::default();
        let stack = frames.iter().rev().fold(None, |at, (name, frame_type)| {
            let frame = recording.frame(name, "", *frame_type, -1);
            Some(recording.stack(at, frame))
        });
        recording.seal();
        writes(&recording, stack).map(str::to_owned)
    }

    #[test]
    fn a_wait_below_a_write_to_a_connection_is_one_for_room_to_send() {
        let park = [("futex_wait", Kernel), ("java.util.concurrent.locks.LockSupport.park", C2)];
        let with = |more: &[(&str, FrameType)]| said(&[&park[..], more].concat());
        let writing =
            [("web.Blocker.block", C2), ("web.HttpOutput.write", C2), ("shop.Page.answer", Interpreted)];
        assert_eq!(with(&writing).as_deref(), Some("web.HttpOutput.write"));
        let reading = [("web.Blocker.block", C2), ("web.HttpInput.read", C2), ("web.HttpOutput.write", C2)];
        assert_eq!(with(&reading), None, "it reads, whatever it is called from");
        let queue = [("shop.Pool.take", C2), ("shop.Journal.write", C2)];
        assert_eq!(with(&queue), None, "a journal is no connection");
        let asking = [("mq.Reply.await", C2), ("mq.Channel.sendAndReceive", C2)];
        assert_eq!(with(&asking), None, "it waits for the answer to what it sent");
        let kernel = [
            ("sk_stream_wait_memory", Kernel),
            ("tcp_sendmsg_locked", Kernel),
            ("sun.nio.ch.NioSocketImpl.implWrite", C2),
        ];
        assert_eq!(said(&kernel).as_deref(), Some("sun.nio.ch.NioSocketImpl.implWrite"));
    }
}
