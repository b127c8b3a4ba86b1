//! What to do about a contended lock, by what kind of lock it is.

/// A change, where it applies, what it risks.
pub(crate) type Advice = (&'static str, &'static str, &'static str);

const LESS: Advice = (
    "do less while holding it: move I/O, logging, sleeping and allocation out of the locked part",
    "any JDK",
    "what was atomic together no longer is",
);
const SPLIT: Advice = (
    "split it: one lock a key or stripe, a ConcurrentHashMap or LongAdder in its place",
    "any JDK",
    "operations over all keys need another way",
);
const FEWER: Advice = (
    "fewer threads than now, where the lock is the limit anyway",
    "any JDK",
    "none for throughput; waits move to the pool's queue",
);
const RETURN_EARLY: Advice = (
    "hold a permit for less time: release it before work that does not need it, and look at what its holders wait for",
    "any JDK",
    "none",
);
const GIVE_BACK: Advice = (
    "check that every permit is released: release() in a finally block, on each way out of the code that acquires one; \
     a semaphore does not know who holds it, and a permit that is lost stays lost until the JVM ends",
    "any JDK",
    "none",
);
const MORE_PERMITS: Advice = (
    "more permits (a larger pool), where what they guard can take more at once",
    "any JDK",
    "what they guard gets more load; where it is the limit, waits only move there",
);
const SHORT_HOLDS: Advice = (
    "hold it for less time, for reading as well: a writer waits for all who read, and those who come later queue behind it; \
     fewer writes; copies that are replaced as a whole, or a ConcurrentHashMap",
    "any JDK",
    "readers may see what was true a short time ago",
);
const OPTIMISTIC: Advice = (
    "StampedLock with optimistic reads, for short reads",
    "since JDK 8",
    "not reentrant; reads must be checked and repeated",
);
const COUNTED_DOWN: Advice = (
    "look at the threads that count it down: a latch is not a lock, and opens when the last of them is done",
    "any JDK",
    "none",
);

/// What is done about fairness, by the kind of lock.
const UNFAIR_SEMAPHORE: &str = "make the fair semaphore unfair: new Semaphore(permits, false)";
const UNFAIR_READ_WRITE: &str = "make the fair lock unfair: new ReentrantReadWriteLock(false)";
const UNFAIR_LOCK: &str = "make the fair lock unfair: new ReentrantLock(false)";

/// Against the lock of a file that the holder waits for in a system call.
pub(crate) const FILE_LOCK: Advice = (
    "see who has the lock of that file: lslocks (or /proc/locks) names the process; fcntl() waits until another process lets go of it",
    "Linux",
    "none",
);
/// The system call that waits for such a lock, as chains call it.
pub(crate) const WAITS_FOR_FILE: &str = "in fcntl()";

/// What helps with a lock of a class; `held`: whether it is known who held it most of the time.
pub(crate) fn of(class: &str, held: bool) -> Vec<Advice> {
    let is = |part: &str| class.contains(part);
    let unfair = |change: &'static str| -> Option<Advice> {
        is("$FairSync").then_some((
            change,
            "any JDK",
            "a thread may wait longer than those that came after it",
        ))
    };
    if is("Semaphore") {
        let unfair = unfair(UNFAIR_SEMAPHORE);
        // Permits that nobody is seen to hold may be held by nobody.
        let permits = match held {
            true => [RETURN_EARLY, GIVE_BACK, MORE_PERMITS],
            false => [GIVE_BACK, RETURN_EARLY, MORE_PERMITS],
        };
        return unfair.into_iter().chain(permits).collect();
    }
    if is("ReadWriteLock") {
        let unfair = unfair(UNFAIR_READ_WRITE);
        return unfair.into_iter().chain([SHORT_HOLDS, OPTIMISTIC]).collect();
    }
    if is("StampedLock") {
        return vec![SHORT_HOLDS, LESS];
    }
    if is("CountDownLatch") {
        return vec![COUNTED_DOWN];
    }
    let unfair = unfair(UNFAIR_LOCK);
    unfair.into_iter().chain([LESS, SPLIT, FEWER]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_fair_lock_is_to_be_made_unfair_and_each_kind_by_its_own_name() {
        let first = |class: &str| of(class, true)[0].0;
        let locks = "java.util.concurrent.locks.";
        assert_eq!(first(&format!("{locks}ReentrantLock$FairSync")), UNFAIR_LOCK);
        assert_eq!(first(&format!("{locks}ReentrantReadWriteLock$FairSync")), UNFAIR_READ_WRITE);
        assert_eq!(first("java.util.concurrent.Semaphore$FairSync"), UNFAIR_SEMAPHORE);
        let unfair = [
            "java.util.concurrent.Semaphore$NonfairSync".to_owned(),
            format!("{locks}ReentrantLock$NonfairSync"),
            format!("{locks}ReentrantReadWriteLock$NonfairSync"),
            "java.util.concurrent.CountDownLatch$Sync".to_owned(),
            "shop.Cart".to_owned(),
            String::new(),
        ];
        for class in unfair {
            let unfair = [UNFAIR_SEMAPHORE, UNFAIR_READ_WRITE, UNFAIR_LOCK];
            assert!(of(&class, true).iter().all(|(change, ..)| !unfair.contains(change)), "{class}");
        }
        let semaphore = |held| of("java.util.concurrent.Semaphore$NonfairSync", held);
        assert_eq!(semaphore(true), [RETURN_EARLY, GIVE_BACK, MORE_PERMITS]);
        assert_eq!(semaphore(false), [GIVE_BACK, RETURN_EARLY, MORE_PERMITS]);
    }
}
