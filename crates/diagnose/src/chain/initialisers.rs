//! Threads that wait until another one has initialised a class. The object that they wait on is one
//! of the JVM's own (an `int[]`) and says nothing to anybody.

use fathom_recording::{Recording, StackId};

/// The function in which they wait (oops/instanceKlass.cpp).
const INITIALISES: &str = "InstanceKlass::initialize";

/// Whether a stack waits for a class to be initialised: the JVM does so below the innermost Java
/// frame. The frame is further out on the stack of who runs the initialiser itself.
pub(crate) fn awaits_initialiser(recording: &Recording, stack: Option<StackId>) -> bool {
    let mut below_java = recording.frames_of(stack).take_while(|frame| !frame.is_java());
    below_java.any(|frame| frame.name().starts_with(INITIALISES))
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType::{C2, Jvm, Kernel};
    use fathom_recording::vocabulary::{kind, label};

    use crate::Window;
    use crate::built::Built;
    use crate::chain::Chains;

    #[test]
    fn who_waits_for_a_class_initialiser_is_said_to_and_who_runs_one_is_not() {
        let waits = [
            ("futex_wait", Kernel),
            ("ObjectMonitor::wait", Jvm),
            ("InstanceKlass::initialize_impl", Jvm),
            ("shop.Server.serve", C2),
        ];
        let runs = [
            ("futex_wait", Kernel),
            ("java.lang.Object.wait0", C2),
            ("shop.Rates.<clinit>", C2),
            ("InstanceKlass::initialize_impl", Jvm),
            ("shop.Server.serve", C2),
        ];
        for (frames, class, what) in [
            (&waits[..], "int[]", "waiting for another thread to initialise a class"),
            (&runs[..], "shop.Rates", "waiting for another thread, on shop.Rates"),
        ] {
            let mut built = Built::jvm("25", "G1", 10.0);
            built.watched("request", 10.0);
            built.with_stack((kind::SCHED_OFF, "sleeping"), "request", frames, &[], (1.0, 5_000.0));
            let labels = [(label::WAKER, "loader")];
            built.with_stack((kind::LOCK_WAIT, class), "request", frames, &labels, (1.0, 5_000.0));
            let recording = built.sealed();
            let chains = Chains::of(&recording);
            let request = (0..recording.threads.len() as u32).map(fathom_recording::ThreadId);
            let is_request = |id: &fathom_recording::ThreadId| {
                recording.strings.get(recording.threads[id.index()].name) == "request"
            };
            let request = request.into_iter().find(is_request).unwrap();
            let chain = chains.of_thread(request, Window { from_ns: 1_000_000_000, to_ns: 6_000_000_000 });
            assert_eq!(chain.links[0].what, what);
        }
    }
}
