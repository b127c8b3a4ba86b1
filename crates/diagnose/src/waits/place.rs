//! Where a stack is in Java: the innermost method, and the place at which the application takes
//! a lock.

use fathom_recording::{Recording, StackId};

/// Packages of the JDK: what the application called stands beyond them.
const JDK: [&str; 6] = ["java.", "javax.", "jdk.", "sun.", "com.sun.", "org.graalvm."];

/// The place of a wait that was recorded without a stack.
pub(crate) const NO_PLACE: &str = "a place that was not recorded";

/// The innermost Java method of a stack, beyond those that `skip` picks.
pub(crate) fn java_method(
    recording: &Recording,
    stack: Option<StackId>,
    skip: impl Fn(&str) -> bool,
) -> Option<&str> {
    use fathom_recording::FrameType::{C1, C2, Inlined, Interpreted};
    let mut at = stack;
    while let Some(node) = at.and_then(|id| recording.stacks.get(id.index())) {
        let frame = recording.frames.get(node.frame.index())?;
        let name = recording.strings.get(frame.name);
        if matches!(frame.frame_type, Interpreted | C1 | C2 | Inlined) && !skip(name) {
            return Some(name);
        }
        at = node.parent;
    }
    None
}

/// What a stack says of a method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Seen {
    Within,
    Outside,
    /// No Java frame was found.
    Unknown,
}

/// Whether a stack is within a method.
pub(crate) fn seen_within(recording: &Recording, stack: StackId, method: &str) -> Seen {
    use fathom_recording::FrameType::{C1, C2, Inlined, Interpreted};
    if java_method(recording, Some(stack), |_| false).is_none() {
        return Seen::Unknown;
    }
    let mut at = Some(stack);
    while let Some(node) = at.and_then(|id| recording.stacks.get(id.index())) {
        let Some(frame) = recording.frames.get(node.frame.index()) else { break };
        let is_java = matches!(frame.frame_type, Interpreted | C1 | C2 | Inlined);
        if is_java && recording.strings.get(frame.name) == method {
            return Seen::Within;
        }
        at = node.parent;
    }
    Seen::Outside
}

/// The place that a stack takes a lock at: the first method of the application, else of whoever is
/// not the lock itself.
pub(crate) fn place<'a>(recording: &'a Recording, stack: Option<StackId>, own: &[&str]) -> &'a str {
    let of_jdk = |name: &str| JDK.iter().any(|package| name.starts_with(package));
    let of_lock = |name: &str| own.iter().any(|prefix| name.starts_with(prefix));
    let place = java_method(recording, stack, of_jdk).or_else(|| java_method(recording, stack, of_lock));
    place.unwrap_or(NO_PLACE)
}
