//! Logs that recorded JVMs wrote meanwhile, taken into their recording.
//!
//! Which of the files that a JVM has open for writing are its logs is decided by their content. A
//! log is read as a whole, for its header says how to read the rest; of a very large one, its head
//! and what was written since the recording began. Only records from the time of the recording are
//! taken.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use anyhow::Result;
use fathom_capture::{WrittenFile, jvm_start};
use fathom_ingest::{Confidence, FORMATS, Format, Input, Lines};
use fathom_recording::{ClockBasis, Placement, Recording, Sink, SourceId, Writer};

/// What of a file is looked at to recognise its format.
const HEAD: u64 = 64 << 10;
/// Logs up to this are read as a whole.
const WHOLE: u64 = 64 << 20;
/// And of larger ones so much of the beginning: it names JVM, collector and decorators.
const BEGINNING: u64 = 1 << 20;

/// Takes what the logs among some files have of the time of a recording. Says what it took, one
/// line each.
pub fn take(files: Vec<WrittenFile>, covers_ns: (i64, i64), writer: &mut Writer) -> Vec<String> {
    let mut said = Vec::new();
    for file in files {
        let name = file.path.display().to_string();
        match read(file, covers_ns, writer) {
            Ok(Some(taken)) => said.push(taken),
            Ok(None) => {}
            Err(error) => said.push(format!("{name}: {error:#}")),
        }
    }
    said
}

/// Reads one; `None` when it is no log, or nothing was written to it.
fn read(written: WrittenFile, covers_ns: (i64, i64), writer: &mut Writer) -> Result<Option<String>> {
    let WrittenFile { path, process, pid, start_ticks, size_at_start, mut file } = written;
    let mut head = Vec::new();
    (&mut file).take(HEAD).read_to_end(&mut head)?;
    let Some(format) = log_format(&head) else { return Ok(None) };
    if file.metadata()?.len() <= size_at_start && size_at_start > WHOLE {
        return Ok(None);
    }
    let lines = Lines::new(content(file, size_at_start)?);
    let name =
        path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned());
    let mut log = Recording::new();
    format.read(&mut Input { name: name.clone(), modified: None, lines }, &mut log)?;
    let start = jvm_start(pid, start_ticks);
    for i in 0..log.sources.len() {
        place(&mut log, SourceId(i as u32), start);
    }
    let rows = log.copy_into(writer, covers_ns, |_, _| process);
    let shown = path.display();
    Ok(Some(format!(
        "{shown}, which the JVM (pid {pid}) writes, was read too ({}): {rows} records",
        format.id()
    )))
}

fn log_format(head: &[u8]) -> Option<&'static dyn Format> {
    let logs = FORMATS.iter().filter(|format| format.written_by_jvms());
    let best = logs.max_by_key(|format| format.sniff(head)).filter(|f| f.sniff(head) > Confidence(0));
    best.copied()
}

/// The whole of a log, or its beginning and what came after `size_at_start`, from the next line on.
fn content(mut file: File, size_at_start: u64) -> Result<Box<dyn Read + Send>> {
    file.seek(SeekFrom::Start(0))?;
    if size_at_start <= WHOLE {
        return Ok(Box::new(file));
    }
    let mut beginning = Vec::new();
    (&mut file).take(BEGINNING).read_to_end(&mut beginning)?;
    beginning.truncate(beginning.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1));
    file.seek(SeekFrom::Start(size_at_start))?;
    let mut byte = [0];
    while file.read(&mut byte)? == 1 && byte[0] != b'\n' {}
    Ok(Box::new(std::io::Cursor::new(beginning).chain(file)))
}

/// Aligns a source with the recording's clock: by its own timestamps, else by the start of its JVM,
/// which is known.
fn place(log: &mut Recording, id: SourceId, start: Option<(i64, i64)>) {
    let source = log.source_mut(id);
    let wall = |offset_ns, uncertainty_ns, how: String| Placement {
        wall: true,
        offset_ns,
        uncertainty_ns: Some(uncertainty_ns),
        how,
    };
    let placement = match (source.clock, &source.anchor, start) {
        (ClockBasis::Epoch, _, _) => wall(0, 0, "its timestamps are wall-clock time".into()),
        (_, Some(anchor), _) => wall(anchor.zero_epoch_ns, anchor.uncertainty_ns, anchor.how.clone()),
        (ClockBasis::JvmUptime, None, Some((zero_ns, uncertainty_ns))) => {
            wall(zero_ns, uncertainty_ns, "counts from the start of the JVM, which the kernel knows".into())
        }
        _ => return,
    };
    let offset_ns = placement.offset_ns;
    source.placement = placement;
    log.place(id, offset_ns);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_a_jvm_writes_is_known_by_its_content_and_nothing_else_is_one() {
        let gc = b"[0.005s][info][gc] Using G1\n[0.100s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 1M->0M(2M) 1.0ms\n";
        assert_eq!(log_format(gc).map(Format::id), Some("unified-log"));
        // A table of a benchmark is no log of the JVM's, whoever wrote it.
        assert!(log_format(b"time,throughput\n0,100\n1,101\n2,99\n").is_none());
    }
}
