//! Marks: what people or their tools did while it was recorded, as the user names it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use fathom_diagnose::{Clock, TimestampSpec, WindowError, clock_of};
use fathom_recording::vocabulary::{figure, kind, source};
use fathom_recording::{ClockBasis, Placement, Process, ProcessId, Recording, Sink, Source, SpanRow};

/// Characters of a mark that are kept: a sentence.
const LONGEST: usize = 200;
/// Marks of a file; more are the lines of a log.
const MOST: usize = 10_000;
/// What the column of times is called in a header.
const HEADERS: [&str; 6] = ["time", "timestamp", "date", "datetime", "at", "when"];
/// Abbreviations of zones that times are written with.
const ZONES: [&str; 18] = [
    "UTC", "GMT", "Z", "CET", "CEST", "EET", "EEST", "WET", "WEST", "BST", "IST", "JST", "EST", "EDT", "CST",
    "CDT", "PST", "PDT",
];
/// Bytes of a file of marks that are read.
const MOST_BYTES: u64 = 16 << 20;

/// Arguments of every command that takes marks.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct MarkArgs {
    /// Something that was done meanwhile, TIME=TEXT: `--mark 22:00:23='deploy 2.3'`; TIME as an end
    /// of a window; may be given several times. A slow window that begins with it says so
    #[arg(long, value_name = "TIME=TEXT", allow_hyphen_values = true)]
    pub mark: Vec<MarkSpec>,
    /// A file of marks, one per line: TIME TEXT, or time,text; may be given several times
    #[arg(long, value_name = "FILE")]
    pub marks: Vec<PathBuf>,
}

/// A mark that the user gave, not yet on the recording's clock.
#[derive(Clone, Debug)]
pub struct MarkSpec {
    at: TimestampSpec,
    text: String,
}

impl FromStr for MarkSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let none = || WindowError::NotATimestamp(text.to_owned()).to_string();
        let (at, event) = text.split_once('=').ok_or_else(none)?;
        let at = at.parse().map_err(|error: WindowError| error.to_string())?;
        Self::of(at, event).ok_or_else(|| {
            format!("{text}: has a time but no text: write TIME=TEXT, such as 22:00:23='deploy 2.3'")
        })
    }
}

impl MarkSpec {
    /// `None` without a text: nobody would know what it is.
    fn of(at: TimestampSpec, text: &str) -> Option<Self> {
        let text: String = text.trim().chars().take(LONGEST).collect();
        (!text.is_empty()).then_some(Self { at, text })
    }

    /// A line of a file; `None` when its time cannot be read, or it has no text.
    fn of_line(line: &str) -> Option<Self> {
        let parted = |by: &[char]| line.split_once(by).and_then(|(at, text)| Some((timestamp(at)?, text)));
        // A date with a time of day behind a blank, and maybe a zone behind another one.
        let words = |count: usize| {
            let blanks = line.match_indices(char::is_whitespace).nth(count - 1);
            let (at, text) = line.split_at_checked(blanks.map_or(line.len(), |(at, _)| at))?;
            at.starts_with(|c: char| c.is_ascii_digit()).then(|| Some((timestamp(at)?, text))).flatten()
        };
        let dated = || [3, 2].into_iter().find_map(words).filter(|_| line.contains('-'));
        let blank = || parted(&[' ', '\t']);
        let (at, text) = parted(&[',', ';']).or_else(dated).or_else(blank).or_else(|| parted(&['=']))?;
        let text = text.trim();
        if begins_with_a_zone(text) {
            return None;
        }
        let unquoted = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
        Self::of(at, &unquoted.map_or_else(|| text.to_owned(), |t| t.replace("\"\"", "\"")))
    }
}

fn timestamp(text: &str) -> Option<TimestampSpec> {
    text.trim().trim_matches('"').parse().ok()
}

/// Whether a text begins with a zone, which then was meant for the time in front of it: an offset,
/// or one of the usual abbreviations, most of which are of several zones.
fn begins_with_a_zone(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    let offset = word.strip_prefix(['+', '-']).is_some_and(|digits| {
        matches!(digits.len(), 4 | 5) && digits.bytes().all(|b| b.is_ascii_digit() || b == b':')
    });
    offset || ZONES.contains(&word)
}

/// Marks with the name of where they stand.
struct Named {
    name: String,
    /// By line; 0 without a line.
    marks: Vec<(u64, MarkSpec)>,
}

impl MarkArgs {
    /// Whether there are any.
    pub fn is_given(&self) -> bool {
        !self.mark.is_empty() || !self.marks.is_empty()
    }

    /// Adds the marks to a sealed recording. Says which lie outside of it.
    pub fn add_to(&self, recording: &mut Recording, report_to_user: bool) -> Result<()> {
        if !self.is_given() {
            return Ok(());
        }
        let clock = clock_of(recording, jiff::tz::TimeZone::system());
        // Where no source says how it was placed, all are on one clock, and so must this one be.
        let known = recording.sources.iter().any(|source| source.placement.is_known());
        let process = (!recording.processes.is_empty()).then_some(ProcessId(0));
        let outside = self.write(recording, &clock, known, process)?;
        recording.seal();
        if report_to_user {
            outside.iter().for_each(|text| eprintln!("fathom: {}", fathom_render::printable(text)));
        }
        Ok(())
    }

    /// Writes the marks among the rows of something; what is to be said of those that are not in
    /// it.
    ///
    /// A row must have a process: `process`, or one that is added.
    pub fn write(
        &self,
        sink: &mut dyn Sink,
        clock: &Clock,
        placed: bool,
        process: Option<ProcessId>,
    ) -> Result<Vec<String>> {
        let mut said = Vec::new();
        for named in self.read()? {
            let source = sink.add_source(source_of(&named.name, clock, placed));
            let process = process.unwrap_or_else(|| {
                sink.add_process(Process { name: source::MARKS.to_owned(), ..Process::default() })
            });
            let (mut written, mut outside) = (0, Vec::new());
            for (line, mark) in &named.marks {
                match mark.at.resolve(clock) {
                    Ok(at_ns) => {
                        written += 1;
                        sink.span(&SpanRow {
                            line: *line,
                            figures: &[(figure::PRECISION_NS, mark.at.precision_ns() as f64)],
                            ..SpanRow::new(kind::MARK, &mark.text, (at_ns, at_ns), process, source)
                        });
                    }
                    Err(error @ WindowError::Outside { .. }) => outside.push(error.to_string()),
                    Err(error) => return Err(error).context(named.name.clone()),
                }
            }
            sink.source_mut(source).records = written;
            let more = outside.len().saturating_sub(1);
            if let Some(first) = outside.first() {
                let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
                said.push(format!("{}: not a mark of this recording: {first}{more}", named.name));
            }
        }
        Ok(said)
    }

    fn read(&self) -> Result<Vec<Named>> {
        let mut all = Vec::new();
        if !self.mark.is_empty() {
            all.push(Named {
                name: "--mark".into(),
                marks: self.mark.iter().map(|m| (0, m.clone())).collect(),
            });
        }
        for path in &self.marks {
            all.push(read(path)?);
        }
        Ok(all)
    }
}

fn source_of(name: &str, clock: &Clock, placed: bool) -> Source {
    Source {
        name: name.to_owned(),
        format: source::MARKS.to_owned(),
        clock: if clock.wall { ClockBasis::Epoch } else { ClockBasis::SinceStart },
        placement: Placement {
            wall: clock.wall,
            offset_ns: 0,
            uncertainty_ns: placed.then_some(0),
            how: "as given by the user".to_owned(),
        },
        ..Source::default()
    }
}

fn read(path: &Path) -> Result<Named> {
    let shown = path.display();
    let file = File::open(path).with_context(|| format!("{shown}"))?;
    let mut marks = Vec::new();
    for (i, line) in BufReader::new(file.take(MOST_BYTES)).split(b'\n').enumerate() {
        let line = line.with_context(|| format!("{shown}"))?;
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_start_matches('\u{feff}').trim();
        // A header names its columns.
        let first = line.split([',', ';', '\t', ' ']).next().unwrap_or_default().trim_matches('"');
        let header = i == 0 && HEADERS.contains(&first.to_ascii_lowercase().as_str());
        if line.is_empty() || line.starts_with('#') || header {
            continue;
        }
        let Some(mark) = MarkSpec::of_line(line) else {
            bail!(
                "{shown}:{}: not TIME TEXT or time,text, with a TIME such as 115s, 22:00:23, 2026-11-20T22:00:23Z or 2026-11-20 22:00:23 +0100 (a zone stands behind a date, and is an offset or UTC)",
                i + 1
            );
        };
        marks.push((i as u64 + 1, mark));
        if marks.len() > MOST {
            bail!("{shown}: more than {MOST} marks");
        }
    }
    let name = path.file_name().map_or_else(|| shown.to_string(), |name| name.to_string_lossy().into_owned());
    Ok(Named { name, marks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_time_and_a_text() {
        let text = |line: &str| MarkSpec::of_line(line).map(|mark| mark.text);
        for line in [
            "115s deploy 2.3",
            "115,deploy 2.3",
            "115;\"deploy 2.3\"",
            "22:00:23\tdeploy 2.3",
            "2026-11-20T22:00:23Z deploy 2.3",
            "2026-11-20 22:00:23 deploy 2.3",
            "2026-11-20 22:00:23,deploy 2.3",
            "115=deploy 2.3",
            "2026-11-20 22:00:23 +0100 deploy 2.3",
            "2026-11-20 22:00:23 -07:30\tdeploy 2.3",
            "2026-11-20 22:00:23 UTC deploy 2.3",
            "2026-11-20T22:00:23 +0100 deploy 2.3",
            "2026-11-20 22:00:23 +0100,deploy 2.3",
        ] {
            assert_eq!(text(line).as_deref(), Some("deploy 2.3"), "{line}");
        }
        assert_eq!(text("115,a, b").as_deref(), Some("a, b"));
        assert_eq!(text("115 a-b c").as_deref(), Some("a-b c"));
        assert_eq!(text("115 +10 nodes").as_deref(), Some("+10 nodes"));
        for none in ["deploy", "deploy 115", "", ",", "1x deploy"] {
            assert_eq!(text(none), None, "{none}");
        }
        // Neither a text nor a mark at midnight; and zones that would be lost in the text.
        for none in ["115s ", "115,", "115;\"\"", "2026-11-20 22:00:23", "2026-11-20 22:00:23 +0100"] {
            assert_eq!(text(none), None, "{none}");
        }
        for none in ["22:00:23 UTC deploy", "22:00:23 +0100 deploy", "2026-11-20 22:00:23 CET deploy"] {
            assert_eq!(text(none), None, "{none}");
        }
    }

    #[test]
    fn a_text_has_a_bounded_length_and_may_be_anything() {
        let mark: MarkSpec = format!("5=a={}", "\u{202e}".repeat(1000)).parse().unwrap();
        assert_eq!(mark.text.chars().count(), LONGEST);
        for none in ["deploy", "=x", "8.6s=", "8.6s= "] {
            assert!(none.parse::<MarkSpec>().is_err(), "{none}");
        }
    }
}
