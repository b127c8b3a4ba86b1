//! Work that several threads did at a time, and that a pool which did not exist then does now, with
//! fewer threads: they always have work, so that nobody is seen to bring them any, and what waits
//! for them may be tasks in a queue, which are no threads.
//!
//! ```text
//! before   elastic-1 … elastic-14   read() from the peer in Rates.fetch, 14 at a time
//! now      elastic-1 … elastic-14   without work
//!          single-1                 read() from the peer in Rates.fetch for 99% of the time
//! ```

use fathom_recording::{ProcessId, ThreadId};
use rustc_hash::FxHashMap;

use super::{HAS_NONE, Spent, Stage, UNSEEN, at_a_time, mainly, mostly, pools};
use crate::attribution::{Key, segments};
use crate::growth::busy_pools::takes_tasks;
use crate::growth::{MOST, TIMES};
use crate::intervals::Intervals;
use crate::places::Places;
use crate::{Case, chain::Chains};

/// Share of the slow time's threads at a time that may have lived in the baseline.
const NEW: f64 = 0.05;

/// The new pool that does most of such work.
pub(in crate::growth) fn moved<'a>(case: &Case<'a>, jvm: ProcessId) -> Option<Stage<'a>> {
    let chains = case.chains();
    let (slow, base) = (Intervals::of_windows(&mostly(&case.slow)), Intervals::of_windows(&case.base));
    let (slow_ms, base_ms) = (slow.length_ms(), base.length_ms().max(f64::MIN_POSITIVE));
    let mut runs = FxHashMap::default();
    let mut is_candidate = |threads: &[ThreadId], now: &Spent, usual: &Spent| {
        usual.lived / base_ms <= NEW * now.lived / slow_ms
            && now.lived > 0.0
            && now.waiting_share() <= HAS_NONE
            && now.unseen <= UNSEEN * now.lived
            && now.queued <= MOST * now.lived
            && threads.iter().all(|id| takes_tasks(case.recording, chains, *id, &mut runs))
    };
    let mut new: Vec<_> = pools(case, jvm, (&slow, &base)).into_iter().collect();
    new.retain(|(_, (threads, now, usual))| is_candidate(threads, now, usual));
    let stages = new.into_iter().filter_map(|(pool, (threads, now, _))| {
        let (key, ms, _, longest) = mainly(case, &threads, (&slow, &base))?;
        let others = did(case, jvm, &key, &base) / base_ms;
        let is_fewer = !key.place.is_empty() && others >= TIMES * ms / slow_ms;
        is_fewer.then(|| Stage {
            name: if threads.len() == 1 { chains.name(threads[0]) } else { pool.name },
            count: (at_a_time(chains, &threads, &slow), 0.0),
            threads,
            busy: (1.0 - now.waiting_share(), 0.0),
            key,
            share: (ms / now.lived, 0.0),
            longest,
            others: Some(others),
        })
    });
    stages.max_by(|a, b| a.others.unwrap_or(0.0).total_cmp(&b.others.unwrap_or(0.0)))
}

/// How long application threads did the same in the same place, with whatever peer or file,
/// milliseconds.
fn did(case: &Case<'_>, jvm: ProcessId, key: &Key<'_>, within: &Intervals) -> f64 {
    let chains: &Chains<'_> = case.chains();
    let mut places = Places::of_recording(case.recording);
    let mut ms = 0.0;
    for thread in chains.application_threads(jvm) {
        let own = segments::of(chains, &mut places, thread);
        let same = own.iter().filter(|s| s.key.category == key.category && s.key.place == key.place);
        ms += same.map(|s| within.length_within_ns(s.from, s.to) as f64 / 1e6).sum::<f64>();
    }
    ms
}
