//! Values and labels of a call, as its row has them.

use fathom_recording::vocabulary::{figure, label};
use syscalls::Errno;

use super::event::Event;
use super::{arguments, calls, restarts};

/// Values and labels of a call.
pub(super) struct Attributes {
    pub(super) figures: Vec<(&'static str, f64)>,
    pub(super) labels: Vec<(&'static str, String)>,
}

impl Attributes {
    pub(super) fn of(event: &Event, accepted: bool) -> Self {
        let call = calls::find(event.number);
        let argument = |index: usize| event.arguments.get(index).copied();
        let failed = (-4095..0).contains(&event.result);
        let mut figures = Vec::new();
        if !event.unfinished {
            figures.push((figure::RESULT, if failed { -1.0 } else { event.result as f64 }));
        }
        let asked = call.and_then(|call| argument(call.bytes?));
        let moved = call.is_some_and(|call| call.moves) && !failed && !event.unfinished;
        figures.extend(moved.then_some((figure::BYTES, event.result as f64)));
        figures.extend(asked.map(|bytes| (figure::REQUESTED_BYTES, bytes as f64)));
        let mut labels = Vec::new();
        if failed {
            let number = event.result.unsigned_abs() as i32;
            let name = Errno::new(number).name().map_or_else(|| restarts(number), str::to_owned);
            labels.push((label::ERROR, name));
        }
        let name = event.file.as_ref().map_or("", |file| file.name.as_str());
        let peer = event.ends.peer(name).or_else(|| event.ends.listens());
        if event.ends.is_socket() {
            labels.extend(peer.map(|peer| (label::PEER, peer)));
            labels.extend(event.ends.own().map(|own| (label::OWN, own.to_string())));
            labels.extend(accepted.then(|| (label::ACCEPTED, "yes".to_owned())));
        } else if let Some(path) = event.file.as_ref().map(|file| &file.name).or(event.path.as_ref()) {
            labels.push((label::PATH, path.clone()));
        }
        let memory = call.and_then(|call| argument(call.memory?));
        labels.extend(memory.map(|address| (label::ADDRESS, format!("{address:#x}"))));
        let flags = call.and_then(|call| arguments::flags(call, &event.arguments));
        labels.extend(flags.map(|flags| (label::FLAGS, flags)));
        if event.began_later {
            labels.push((
                label::CUT,
                "began somewhat later: its thread makes too many calls to time them all".into(),
            ));
        }
        let cut = match (event.began_before, event.unfinished) {
            (true, true) => Some("began before the recording, which ended before it"),
            (true, false) => Some("began before the recording"),
            (false, true) => Some("the recording ended"),
            (false, false) => None,
        };
        labels.extend(cut.map(|why| (label::CUT, why.to_owned())));
        Self { figures, labels }
    }
}
