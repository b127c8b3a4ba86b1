//! Classes that are loaded or made much more often than usual: lambdas, proxies, scripts and
//! templates that are made for each operation instead of once.

use fathom_recording::vocabulary::live;
use fathom_recording::{ProcessId, Recording};

use crate::facts::{Value, growth as facts};
use crate::intervals::Intervals;
use crate::{Case, Fact, Window};

/// Classes a second from which on that is no service that has warmed up.
const MANY_PER_S: f64 = 50.0;
/// How many times as many a second as in the baseline.
const TIMES: f64 = 10.0;

/// How many classes a second a JVM loads, where it loads much more than in the baseline.
pub(super) fn loaded_more(case: &Case<'_>, jvm: ProcessId) -> Option<Fact> {
    let slow = loaded_per_s(case.recording, jvm, &case.slow)?;
    let base = loaded_per_s(case.recording, jvm, &case.base)?;
    let fact = facts::CLASSES_LOADED.is(Value::per_second(slow)).over(Value::per_second(base));
    // Code that is new is loaded once.
    let goes_on = loaded_per_s(case.recording, jvm, &later_halves(&case.slow))? >= MANY_PER_S;
    (goes_on && slow >= MANY_PER_S && slow >= TIMES * base).then_some(fact)
}

fn later_halves(windows: &[Window]) -> Vec<Window> {
    let half = |w: &Window| Window { from_ns: w.from_ns + (w.to_ns - w.from_ns) / 2, to_ns: w.to_ns };
    windows.iter().map(half).collect()
}

/// `None` where it was not counted. Those of the archive of the JDK are counted apart.
fn loaded_per_s(recording: &Recording, jvm: ProcessId, windows: &[Window]) -> Option<f64> {
    let within = Intervals::of_windows(windows);
    let (mut classes, mut counted_s) = (0.0, 0.0);
    let of_jvm = recording.series.iter().filter(|s| {
        let of_archive = s.info.instance.ends_with(" shared");
        s.info.name == live::JVM_CLASSES_LOADED.name && s.info.process == Some(jvm) && !of_archive
    });
    for series in of_jvm {
        for ((t, dt), rate) in series.t_ns.iter().zip(&series.dt_ns).zip(&series.value) {
            let seconds = within.length_within_ns(*t, t.saturating_add(*dt)) as f64 / 1e9;
            if rate.is_finite() {
                classes += rate * seconds;
                counted_s += seconds;
            }
        }
    }
    (counted_s > 0.0).then(|| classes / counted_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::{Built, slow_and_base};

    #[test]
    fn a_jvm_that_makes_classes_all_the_time_is_distinguished_from_one_that_has_them() {
        let loaded = |usual: f64, now: f64, later: f64| {
            let mut built = Built::jvm("17", "G1", 60.0);
            let jvm = Some(built.jvm);
            let rates = [(0.0, 30.0, usual), (30.0, 45.0, now), (45.0, 60.0, later)];
            built.gauge(live::JVM_CLASSES_LOADED, "App (7)", jvm, &rates);
            built.gauge(live::JVM_CLASSES_LOADED, "App (7) shared", jvm, &[(0.0, 60.0, 500.0)]);
            let recording = built.sealed();
            let case = slow_and_base(&recording, (30, 60), (0, 30), 0.5);
            loaded_more(&case, ProcessId(0)).and_then(|fact| fact.number("value"))
        };
        assert_eq!(loaded(0.0, 2_000.0, 1_000.0), Some(1_500.0));
        assert_eq!(loaded(0.0, 20.0, 20.0), None, "few");
        assert_eq!(loaded(0.0, 2_000.0, 0.0), None, "code that is new");
        assert_eq!(loaded(400.0, 2_000.0, 2_000.0), None, "as it is used to");
    }
}
