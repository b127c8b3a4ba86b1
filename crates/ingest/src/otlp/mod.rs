//! OTLP profiles: what OpenTelemetry's eBPF profiler, its collector, async-profiler (`-o otlp`) and
//! `fathom export` write, as files (`ProfilesData`) and as requests
//! (`ExportProfilesServiceRequest`), alone or several behind their lengths.
//!
//! A file has resources (a process, a container, a host), each with profiles, each with one type of
//! values. A type whose meaning is known becomes samples of its kind. A count of samples is taken
//! only where no profile of the same resource has the time itself: some write both.
//!
//! ```text
//! resource ─▶ scope ─▶ profile: type, time ─▶ sample: stack, thread, times and values
//!                                             └─▷ dictionary: stacks, locations, functions, texts
//! ```

mod dictionary;
mod framed;
mod out;
mod resource;
mod sniff;
mod stacks;
mod wire;

use std::io::Read;

use fathom_recording::Sink;

use self::dictionary::Dictionary;
use self::out::{Out, Reading};
use self::wire::data;
use crate::protobuf::{Part, Parts};
use crate::{Confidence, Format, IngestError, Input};

/// The reader of OTLP profiles.
pub(crate) struct Otlp;

const ID: &str = "otlp-profiles";

/// The largest file that is read, decompressed. A dictionary may come last, so that all of it is
/// in memory.
const LARGEST: u64 = 512 << 20;

impl Format for Otlp {
    fn id(&self) -> &'static str {
        ID
    }

    fn about(&self) -> &'static str {
        "OpenTelemetry profiles (OTLP v1development, protobuf): CPU, off-CPU, wall, allocation and lock profiles with threads and times"
    }

    fn reads_bytes(&self) -> bool {
        true
    }

    fn sniff(&self, head: &[u8]) -> Confidence {
        Confidence(if sniff::is_profiles(head) { 75 } else { 0 })
    }

    fn read(&self, input: &mut Input, sink: &mut dyn Sink) -> Result<(), IngestError> {
        let mut bytes = Vec::new();
        // A failure is kept by the lines: what was read up to there counts.
        let _ = input.lines.content().take(LARGEST).read_to_end(&mut bytes);
        let (messages, mut cut) = framed::messages(&bytes);
        let has_samples = |message: &&[u8]| {
            Parts::of(message)
                .any(|part| matches!(part, Part::Bytes(data::RESOURCE_PROFILES, of) if out::has_samples(of)))
        };
        if !messages.iter().any(has_samples) {
            return Err(IngestError::Empty { path: input.name.clone().into(), format: ID });
        }
        let mut out = Out::new(sink, &input.name);
        for message in messages {
            let parts = || Parts::of(message);
            let of_dictionary = |part| match part {
                Part::Bytes(data::DICTIONARY, bytes) => Some(bytes),
                _ => None,
            };
            let dictionary = Dictionary::of(parts().find_map(of_dictionary).unwrap_or_default());
            let mut reading = Reading::of(&dictionary);
            let mut all = parts();
            for part in all.by_ref() {
                if let Part::Bytes(data::RESOURCE_PROFILES, resource) = part {
                    out.resource(&mut reading, resource);
                }
            }
            cut |= all.damaged || dictionary.damaged;
        }
        out.finish(bytes.len() as u64, cut || bytes.len() as u64 >= LARGEST);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
