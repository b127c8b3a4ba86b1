//! The method of the application in which a thread was, by its stack.

use fathom_recording::{Recording, StackFrame, StackId, ThreadId};
use rustc_hash::FxHashMap;

use crate::chain::Chains;
use crate::thread_ledger::Taken;
use crate::waits::Category;
use crate::waits::place::{is_lambda, is_of_jdk};

/// Within which time short waits are summed up, nanoseconds: those of a thread that waits often are
/// recorded after a tenth of a second.
pub(crate) const SUMMED_WITHIN_NS: i64 = 200_000_000;

/// The beginning of the methods that every thread's Java code is below.
const RUN: &str = "java.lang.Thread.run";

/// Beginnings of the methods by which executors run what was given to them.
const EXECUTORS: [&str; 4] =
    ["java.util.concurrent.", "java.lang.Thread", "java.lang.VirtualThread", "jdk.internal.vm."];

/// Whether a method is one of a queue of `java.util.concurrent`.
fn is_of_queue(name: &str) -> bool {
    let class = name.strip_prefix("java.util.concurrent.").and_then(|rest| rest.rsplit_once('.'));
    let class = class.filter(|(class, _)| !class.starts_with("locks."));
    class.is_some_and(|(class, _)| ["Queue", "Deque", "Exchanger"].iter().any(|word| class.contains(word)))
}

/// The class of a method, with its package.
pub(crate) fn class_of(method: &str) -> &str {
    let name = method.split('(').next().unwrap_or(method);
    name.rsplit_once('.').map_or(name, |(class, _)| class)
}

/// "Cursor.next" of "org.h2.mvstore.Cursor.next".
pub(crate) fn short(method: &str) -> &str {
    let cut = method.rmatch_indices('.').nth(1).map_or(0, |(at, _)| at + 1);
    &method[cut..]
}

/// Short waits that were summed up.
pub(crate) struct ShortWait<'a> {
    pub(crate) t_ns: i64,
    pub(crate) category: Category,
    pub(crate) place: &'a str,
    pub(crate) stack: Option<StackId>,
    pub(crate) weight: i64,
}

/// Methods of the application by stack, each looked up once.
pub(crate) struct Places<'a> {
    recording: &'a Recording,
    /// With whether it waits in a queue of the JDK.
    known: FxHashMap<StackId, (&'a str, bool)>,
}

impl<'a> Places<'a> {
    pub(crate) fn of_recording(recording: &'a Recording) -> Self {
        Self { recording, known: FxHashMap::default() }
    }

    /// Short waits of a thread by category and method, in order of time.
    pub(crate) fn of_short_waits(&mut self, chains: &Chains<'a>, thread: ThreadId) -> Vec<ShortWait<'a>> {
        let of = |(category, sample): (Category, &Taken)| ShortWait {
            t_ns: sample.t_ns,
            category,
            place: self.of(sample.stack()),
            stack: sample.stack(),
            weight: sample.weight.max(0),
        };
        chains.short_waits(thread).map(of).collect()
    }

    /// The innermost method of a stack that is neither the JDK's nor of a lambda's class, else that
    /// of the lambda. Where all are the JDK's, the outermost one
    /// below those of an executor, or of the thread; empty without any.
    pub(crate) fn of(&mut self, stack: Option<StackId>) -> &'a str {
        stack.map_or("", |stack| self.known(stack).0)
    }

    /// Whether the application's innermost method takes something from a queue of the JDK, or hands
    /// something over in one.
    pub(crate) fn queues(&mut self, stack: Option<StackId>) -> bool {
        stack.is_some_and(|stack| self.known(stack).1)
    }

    fn known(&mut self, stack: StackId) -> (&'a str, bool) {
        if let Some(known) = self.known.get(&stack) {
            return *known;
        }
        let (mut outermost, mut task, mut queues) = ("", None, false);
        let (mut found, mut lambda) = (None, None);
        for name in self.recording.frames_of(stack).filter(StackFrame::is_java).map(|frame| frame.name()) {
            if outermost.is_empty() || !name.starts_with(RUN) {
                outermost = name;
            }
            if !EXECUTORS.iter().any(|executor| name.starts_with(executor)) {
                task = Some(name);
            }
            if !is_of_jdk(name) && is_lambda(name) {
                lambda = lambda.or(Some(name));
            } else if !is_of_jdk(name) {
                found = Some(name);
                break;
            }
            queues |= is_of_queue(name);
        }
        let place = found.or(lambda).or(task).unwrap_or(outermost);
        *self.known.entry(stack).or_insert((place, queues))
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType::C2;

    use super::*;
    use crate::built::Built;

    #[test]
    fn code_of_the_jdk_alone_is_placed_in_the_task_and_not_in_its_executor() {
        let place = |frames: &[&str]| {
            let mut built = Built::jvm("25", "G1", 1.0);
            let frames: Vec<_> = frames.iter().map(|name| (*name, C2)).collect();
            let stack = built.stack(&frames);
            let recording = built.sealed();
            Places::of_recording(&recording).of(stack).to_owned()
        };
        let worker = ["java.util.concurrent.ThreadPoolExecutor.runWorker", "java.lang.Thread.run"];
        let below = |inner: &[&'static str]| place(&[inner, &worker[..]].concat());
        let exchange = "sun.net.httpserver.ServerImpl$Exchange.run";
        assert_eq!(below(&["sun.security.ssl.SSLEngineImpl.unwrap", exchange]), exchange);
        assert_eq!(below(&["java.util.HashMap.get", "shop.Orders.find", exchange]), "shop.Orders.find");
        assert_eq!(below(&["java.util.concurrent.ThreadPoolExecutor.getTask"]), worker[0]);
        let lambda = ["java.util.concurrent.CompletableFuture.join", "shop.Cart$$Lambda.apply"];
        assert_eq!(
            below(&[&lambda[..], &["java.util.stream.ReferencePipeline.forEach", "shop.Cart.sum"]].concat()),
            "shop.Cart.sum"
        );
        assert_eq!(below(&lambda), "shop.Cart$$Lambda.apply");
    }
}
