//! Where a stack is in Java: the innermost method, and the place at which the application takes
//! a lock.

use fathom_recording::{Recording, StackFrame, StackId};

/// Packages of the JDK: what the application called stands beyond them, and the method that called
/// into them is the application's, or that of a library which it brought along.
const JDK: [&str; 8] = ["java.", "javax.", "jdk.", "sun.", "com.sun.", "org.graalvm.", "java/", "jdk/"];

/// Whether a method, or a class, is one of the JDK's.
pub(crate) fn is_of_jdk(name: &str) -> bool {
    JDK.iter().any(|package| name.starts_with(package))
}

/// Whether a method is one of the class that the JVM makes of a lambda or of a method reference:
/// its name says nothing, and the method that calls it does.
pub(crate) fn is_lambda(name: &str) -> bool {
    name.contains("$$Lambda")
}

/// The place of a wait that was recorded without a stack.
pub(crate) const NO_PLACE: &str = "";

/// The innermost Java method of a stack, beyond those that `skip` picks.
pub(crate) fn java_method(
    recording: &Recording,
    stack: Option<StackId>,
    skip: impl Fn(&str) -> bool,
) -> Option<&str> {
    let mut methods = recording.frames_of(stack).filter(StackFrame::is_java).map(|frame| frame.name());
    methods.find(|name| !skip(name))
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
    let mut seen = Seen::Unknown;
    for java in recording.frames_of(stack).filter(StackFrame::is_java) {
        if java.name() == method {
            return Seen::Within;
        }
        seen = Seen::Outside;
    }
    seen
}

/// The place that a stack takes a lock at: the first method of the application, else of whoever is
/// not the lock itself; one of a lambda's class only where there is no other.
pub(crate) fn place<'a>(recording: &'a Recording, stack: Option<StackId>, own: &[&str]) -> &'a str {
    let of_lock = |name: &str| own.iter().any(|prefix| name.starts_with(prefix));
    let place = java_method(recording, stack, |name| is_of_jdk(name) || is_lambda(name))
        .or_else(|| java_method(recording, stack, is_of_jdk))
        .or_else(|| java_method(recording, stack, of_lock));
    place.unwrap_or(NO_PLACE)
}
