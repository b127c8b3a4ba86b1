//! `fathom heap DUMP --redacted FILE`: a copy of a dump without anybody's data.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use fathom_diagnose::quantity;
use fathom_heap::{Redacted, redact};
use flate2::Compression;
use flate2::write::GzEncoder;

/// Makes the copy, packed where its name ends with `.gz`, and says what is left out of it.
pub fn copy(dump: &Path, to: &Path, json: bool) -> Result<()> {
    let named = || to.display().to_string();
    // The copy of a dump is still large: what is there already is not replaced.
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to).with_context(named)?;
    let written = write(dump, &file, to.extension().is_some_and(|extension| extension == "gz"));
    if written.is_err() {
        // Best effort: a part of a copy is of no use.
        let _ = std::fs::remove_file(to);
    }
    let done = written.with_context(named)?;
    if json {
        return crate::output::print_json(&done);
    }
    let count = |n: u64| quantity::count(n as f64);
    crate::output::print_fitted(&format!(
        "{}: {}. Values of {} arrays, {} instances and {} static fields ({}) are zero; sizes, references, stacks and names of \
         classes, fields and methods are as they were\n",
        fathom_render::printable(&named()),
        quantity::bytes(std::fs::metadata(to).with_context(named)?.len() as f64),
        count(done.arrays),
        count(done.instances),
        count(done.statics),
        quantity::bytes(done.bytes as f64),
    ))
}

fn write(dump: &Path, file: &File, packed: bool) -> Result<Redacted> {
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let done = if packed {
        let mut packer = GzEncoder::new(&mut out, Compression::fast());
        let done = redact(dump, &mut packer)?;
        packer.finish()?;
        done
    } else {
        redact(dump, &mut out)?
    };
    out.flush()?;
    file.sync_all()?;
    Ok(done)
}
