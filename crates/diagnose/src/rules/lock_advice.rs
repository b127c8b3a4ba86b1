//! What to do about a contended lock, by what kind of lock it is.

use crate::Fact;
use crate::facts::{Metric, links, remedies};

/// The system call that waits for a lock of a file.
const LOCKS_FILE: &str = "fcntl";

/// Whether what a holder did was to wait for a lock of a file.
pub(crate) fn waits_for_file(did: &Fact) -> bool {
    did.metric == &links::CALL && did.name("value") == Some(LOCKS_FILE)
}

/// What helps with a lock of a class; `held`: whether it is known who held it most of the time.
pub(crate) fn of(class: &str, held: bool) -> Vec<&'static Metric> {
    let is = |part: &str| class.contains(part);
    let unfair = |remedy: &'static Metric| is("$FairSync").then_some(remedy);
    if is("Semaphore") {
        let unfair = unfair(&remedies::UNFAIR_SEMAPHORE);
        // Permits that nobody is seen to hold may be held by nobody.
        let permits = match held {
            true => [&remedies::RETURN_EARLY, &remedies::GIVE_BACK, &remedies::MORE_PERMITS],
            false => [&remedies::GIVE_BACK, &remedies::RETURN_EARLY, &remedies::MORE_PERMITS],
        };
        // Where it is known what is done with them, that is what takes the time.
        return match held {
            true => permits.into_iter().chain(unfair).collect(),
            false => unfair.into_iter().chain(permits).collect(),
        };
    }
    if is("ReadWriteLock") {
        let unfair = unfair(&remedies::UNFAIR_READ_WRITE);
        return unfair.into_iter().chain([&remedies::SHORT_HOLDS, &remedies::OPTIMISTIC_READS]).collect();
    }
    if is("StampedLock") {
        return vec![&remedies::SHORT_HOLDS, &remedies::DO_LESS_HOLDING];
    }
    if is("CountDownLatch") {
        return vec![&remedies::WHO_COUNTS_DOWN];
    }
    let unfair = unfair(&remedies::UNFAIR_LOCK);
    unfair
        .into_iter()
        .chain([&remedies::DO_LESS_HOLDING, &remedies::SPLIT_LOCK, &remedies::FEWER_THREADS])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_fair_lock_is_to_be_made_unfair_and_each_kind_by_its_own_name() {
        let first = |class: &str| of(class, true)[0];
        let locks = "java.util.concurrent.locks.";
        assert_eq!(first(&format!("{locks}ReentrantLock$FairSync")), &remedies::UNFAIR_LOCK);
        assert_eq!(first(&format!("{locks}ReentrantReadWriteLock$FairSync")), &remedies::UNFAIR_READ_WRITE);
        let fair = |held| of("java.util.concurrent.Semaphore$FairSync", held);
        assert_eq!(fair(false).first(), Some(&&remedies::UNFAIR_SEMAPHORE));
        assert_eq!(fair(true).last(), Some(&&remedies::UNFAIR_SEMAPHORE));
        let unfair = [
            "java.util.concurrent.Semaphore$NonfairSync".to_owned(),
            format!("{locks}ReentrantLock$NonfairSync"),
            format!("{locks}ReentrantReadWriteLock$NonfairSync"),
            "java.util.concurrent.CountDownLatch$Sync".to_owned(),
            "shop.Cart".to_owned(),
            String::new(),
        ];
        for class in unfair {
            let unfair = [&remedies::UNFAIR_SEMAPHORE, &remedies::UNFAIR_READ_WRITE, &remedies::UNFAIR_LOCK];
            assert!(of(&class, true).iter().all(|remedy| !unfair.contains(remedy)), "{class}");
        }
        let semaphore = |held| of("java.util.concurrent.Semaphore$NonfairSync", held);
        assert_eq!(semaphore(true), [&remedies::RETURN_EARLY, &remedies::GIVE_BACK, &remedies::MORE_PERMITS]);
        assert_eq!(
            semaphore(false),
            [&remedies::GIVE_BACK, &remedies::RETURN_EARLY, &remedies::MORE_PERMITS]
        );
    }
}
