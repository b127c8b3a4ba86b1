//! The same over a whole run, without a baseline.

use fathom_recording::{FrameType, ProcessId};

use super::{Longest, STAGE_RULE, Stage, mainly, pools, words};
use crate::confidence::Ground;
use crate::facts::{Value, checks, growth as facts, meanings, reasons};
use crate::intervals::Intervals;
use crate::waits::Category;
use crate::{Case, Evidence, Finding, Window};

/// The share of its time that one doing must make up, and how many others must
/// wait for threads at a time.
const ALL_ALONG: f64 = 0.9;
const WAITING_ALL_ALONG: f64 = 2.0;
/// What they wait in then.
const WAITS: [Category; 4] = [Category::Waiting, Category::Lock, Category::Monitor, Category::NativeLock];

/// Over a whole run, without a baseline: a thread that hardly does anything but write to a file or
/// a pipe, force it to the disk or wait for a lock of it, while others wait for threads all the
/// time.
pub(crate) fn all_along(case: &Case<'_>, jvm: ProcessId) -> Option<Finding> {
    let (run, none) = (Intervals::of_windows(&case.slow), Intervals::default());
    let pools = pools(case, jvm, (&run, &none));
    let busy = pools.iter().filter(|(_, (_, now, usual))| now.is_busy(usual));
    let stages = busy.filter_map(|(pool, (threads, now, _))| {
        let (key, ms, _, longest) = mainly(case, threads, (&run, &none))?;
        (ms >= ALL_ALONG * now.lived && hands_to_kernel(case, longest)).then(|| Stage {
            name: if threads.len() == 1 { case.chains().name(threads[0]) } else { pool.name },
            count: (now.lived / run.length_ms().max(f64::MIN_POSITIVE), 0.0),
            threads: threads.clone(),
            busy: (1.0 - now.waiting_share(), 0.0),
            key,
            share: (ms / now.lived, 0.0),
            longest,
            others: None,
        })
    });
    let stage = stages.max_by(|a, b| a.share.0.total_cmp(&b.share.0))?;
    let others = case.chains().application_threads(jvm).into_iter();
    let waited: f64 = others
        .filter(|thread| !stage.threads.contains(thread))
        .filter_map(|thread| case.chains().by_category(thread))
        .flat_map(|by| WAITS.map(|category| by[category.index()].shared_ns(&run) as f64 / 1e6))
        .sum();
    let waiting = waited / run.length_ms().max(f64::MIN_POSITIVE);
    if waiting < WAITING_ALL_ALONG {
        return None;
    }
    let cost_ms = stage.share.0 * run.length_ms();
    let layer = words::layer(stage.key.category);
    let why = &reasons::STAGE_NOT_FOLLOWED;
    let sure = Ground::Fits.because(case, cost_ms, why);
    let mut finding = case.finding_by(STAGE_RULE, layer, jvm, sure, cost_ms);
    let (doing, share) = (Value::from(words::does(&stage.key)), Value::share(stage.share.0));
    let title = facts::BUSY_ALL_ALONG.is(share.clone()).with("who", Value::from(stage.who(false)));
    finding.title = title.with("doing", doing.clone()).with("waiting", Value::plain(waiting)).into();
    finding.culprit = words::culprit(&stage.key).into();
    finding.meaning = meanings::PIPELINE.fact().into();
    let time = facts::STAGE_TIME.is(share).with("doing", doing);
    let time = time.with("idle", Value::share(1.0 - stage.busy.0));
    finding.evidence = vec![Evidence::summed("ledger of threads", time)];
    finding.remedies = stage.remedies(false);
    finding.verify = vec![checks::STAGE_WAITS.fact().into()];
    let (thread, from_ns, to_ns) = stage.longest;
    finding.chain = Some(case.chains().of_thread(thread, Window { from_ns, to_ns }));
    Some(finding)
}

/// Whether a time off the CPU is one in which the thread gives something to the kernel, and not one
/// in which it may have nothing to do: reading a pipe that nobody writes to looks as busy.
fn hands_to_kernel(case: &Case<'_>, (thread, from, to): Longest) -> bool {
    let stack = case.chains().off_between(thread, from, to).next().and_then(|span| span.stack());
    let mut kernel = case.recording.frames_of(stack).filter(|frame| frame.frame_type() == FrameType::Kernel);
    kernel.any(|frame| ["write", "sync", "lock_file"].iter().any(|part| frame.name().contains(part)))
}
