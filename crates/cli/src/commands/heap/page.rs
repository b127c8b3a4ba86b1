//! `fathom heap DUMP --html FILE`: what a dump holds as one self-contained page.

use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use fathom_heap::report::Picture;

use crate::output::write_file;

/// Writes the page, to standard output where it is asked for.
pub fn write(picture: &Picture, to: &Path) -> Result<()> {
    if to.as_os_str() == "-" {
        let mut out = BufWriter::new(std::io::stdout().lock());
        let written = fathom_render::heap::html(picture, &mut out);
        return written.and_then(|()| out.flush()).context("standard output");
    }
    write_file(to, |out| fathom_render::heap::html(picture, out))?;
    eprintln!("fathom: heap in {}", to.display());
    Ok(())
}
