//! Whether a thread waits for the result of something that it has asked for.
//!
//! Who takes work from a queue waits the longer the less there is to do. Who waits for a future
//! does so because it has asked: the longer, the later the answer comes.

use fathom_recording::{Recording, StackId};

/// Parts of the names of classes whose result is waited for: those of the JDK, Guava, Netty,
/// Vert.x, Pekko, Scala and others.
const RESULTS: [&str; 4] = ["Future", "Promise", "CountDownLatch", "CompletionStage"];
/// Beginnings of the names of their methods that wait.
const WAITS: [&str; 5] = ["get", "join", "await", "sync", "block"];

/// Whether a method of a stack waits for a result.
pub(crate) fn awaits_result(recording: &Recording, stack: StackId) -> bool {
    recording.frames_of(stack).any(|frame| frame.is_java() && is_wait(frame.name()))
}

/// Whether a method, with its class before the last dot, waits for a result.
fn is_wait(method: &str) -> bool {
    let Some((class, method)) = method.split('(').next().and_then(|name| name.rsplit_once('.')) else {
        return false;
    };
    let class = class.rsplit('.').next().unwrap_or(class);
    RESULTS.iter().any(|result| class.contains(result)) && WAITS.iter().any(|wait| method.starts_with(wait))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_future_is_waited_for_and_a_queue_or_a_pool_of_futures_is_not() {
        for waits in [
            "java.util.concurrent.CompletableFuture.get",
            "java.util.concurrent.FutureTask.awaitDone(boolean, long)",
            "com.google.common.util.concurrent.AbstractFuture.get",
            "io.netty.util.concurrent.DefaultPromise.await",
            "java.util.concurrent.CountDownLatch.await",
        ] {
            assert!(is_wait(waits), "{waits}");
        }
        for other in [
            "java.util.concurrent.LinkedBlockingQueue.take",
            "java.util.concurrent.FutureTask.run",
            "java.util.concurrent.CompletableFuture.complete",
            "shop.Orders.get",
            "main",
        ] {
            assert!(!is_wait(other), "{other}");
        }
    }
}
