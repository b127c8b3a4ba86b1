//! Which blockers of a parked thread are locks.

/// Whether a blocker (`LockSupport.park(blocker)`) is a lock that a thread holds or a permit, by
/// its class: the synchronizers of `java.util.concurrent.locks` and of a semaphore are nested
/// classes whose names end so. A condition, a latch, a future and a queue, such as
/// `SynchronousQueue$TransferStack`, are not: nobody holds them.
///
/// Source: java.util.concurrent of JDK 8 to 25, whose users of `AbstractQueuedSynchronizer` name
/// their subclass `Sync`, `FairSync` or `NonfairSync`.
pub fn is_lock(class: &str) -> bool {
    (class.ends_with("Sync") || class.ends_with(".StampedLock")) && !class.ends_with(".CountDownLatch$Sync")
}

#[cfg(test)]
mod tests {
    use super::is_lock;

    #[test]
    fn latches_queues_and_conditions_are_no_locks() {
        let of = |class: &str| is_lock(&format!("java.util.concurrent.{class}"));
        assert!(of("locks.ReentrantLock$NonfairSync") && of("Semaphore$FairSync") && of("locks.StampedLock"));
        let none = ["CountDownLatch$Sync", "SynchronousQueue$TransferStack", "FutureTask", ""];
        assert!(none.iter().all(|class| !of(class)));
        assert!(!of("locks.AbstractQueuedSynchronizer$ConditionObject"));
    }
}
