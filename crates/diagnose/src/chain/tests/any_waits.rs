//! Chains of waits made up by chance.

use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever waits there are, in any order and overlap: a chain ends, and its links add up.
    #[test]
    fn chains_of_any_waits_end_and_add_up(
        waits in prop::collection::vec((0_usize..4, 0_usize..6, 0_i64..900, 1_i64..400, 0_u8..6), 0..60),
    ) {
        let mut world = World::of(&APPS);
        for (thread, other, from, length, what) in waits {
            let ms = (from, from + length);
            let waker = format!("x ({})", 100 + other);
            let enter = [(FrameType::Jvm, "ObjectMonitor::enter")];
            match what {
                0 => world.monitor(thread, other, ms, &[]),
                1 => world.add(kind::SCHED_OFF, thread, "sleeping", ms, &[(FrameType::Jvm, "SafepointSynchronize::block")], &[], &[]),
                2 => world.add(kind::SCHED_OFF, thread, "sleeping", ms, &[(FrameType::Kernel, "io_schedule")], &[], &[]),
                3 => world.add(kind::SCHED_OFF, thread, "sleeping", ms, &enter, &[], &[(label::WAKER, &waker)]),
                4 => {
                    let parts = [(figure::REACH_NS, length as f64 * 4e5), (figure::LEAVE_NS, length as f64 * 2e5)];
                    world.built.span(kind::SAFEPOINT, "Cleanup", from as f64 / 1e3, length as f64, &parts, &[]);
                }
                _ => world.add(kind::LOCK_WAIT, thread, "x", ms, &[], &[], &[(label::WAKER, "b")]),
            }
        }
        let (jvm, threads) = (world.built.jvm, world.tids.clone());
        let recording = world.built.sealed();
        let chains = Chains::of(&recording);
        let window = Window { from_ns: 50 * MS, to_ns: 1_200 * MS };
        for thread in threads {
            let chain = chains.of_thread(thread, window);
            adds_up(chain.ms, &chain.links);
            let chain = chains.of_victim(thread, window);
            adds_up(chain.ms, &chain.links);
        }
        for stop in chains.stops(jvm, window, 20) {
            let sum: f64 = stop.parts.iter().map(|part| part.ms).sum();
            prop_assert!((sum - stop.ms).abs() < 1e-6);
            for part in &stop.parts {
                if !part.links.is_empty() {
                    adds_up(part.ms, &part.links);
                }
            }
        }
    }
}
