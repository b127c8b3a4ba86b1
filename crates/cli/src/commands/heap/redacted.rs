//! `fathom heap DUMP --redacted FILE`: a copy of a dump without anybody's data.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use fathom_diagnose::quantity;
use fathom_heap::{Redacted, redact};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

use crate::output::write_new_file;

/// The schema of the JSON form.
const SCHEMA: &str = "fathom.heap-redacted/1";

/// What a copy lacks, for programs.
#[derive(Serialize)]
struct Written {
    schema: &'static str,
    #[serde(flatten)]
    done: Redacted,
}

/// Makes the copy, packed where its name ends with `.gz`, and says what is left out of it.
pub fn copy(dump: &Path, to: &Path, json: bool) -> Result<()> {
    let named = || to.display().to_string();
    let packed = to.extension().is_some_and(|extension| extension == "gz");
    let done = write_new_file(to, |out| write(dump, out, packed))?;
    if json {
        return crate::output::print_json(&Written { schema: SCHEMA, done });
    }
    let count = |n: u64| quantity::count(n as f64);
    crate::output::print_fitted(&format!(
        "{}: {}. Values of {} arrays, {} instances and {} static fields, and {} texts that name nothing ({} in all) are zero; sizes, \
         references, stacks and names of classes, fields and methods are as they were\n",
        fathom_render::printable(&named()),
        quantity::bytes(std::fs::metadata(to).with_context(named)?.len() as f64),
        count(done.arrays),
        count(done.instances),
        count(done.statics),
        count(done.texts),
        quantity::bytes(done.bytes as f64),
    ))
}

fn write(dump: &Path, out: &mut impl Write, packed: bool) -> Result<Redacted> {
    if !packed {
        return Ok(redact(dump, out)?);
    }
    let mut packer = GzEncoder::new(out, Compression::fast());
    let done = redact(dump, &mut packer)?;
    packer.finish()?;
    Ok(done)
}
