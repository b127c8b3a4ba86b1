//! Standard output and files: what a command writes, and the error when it cannot.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use tempfile::NamedTempFile;

/// Prints a text that ends its last line itself.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("standard output")
}

/// Prints JSON, indented. What a terminal would obey is escaped.
pub fn print_json(value: &impl serde::Serialize) -> Result<()> {
    print(&format!("{}\n", fathom_render::json_indented(value)?))
}

/// Prints JSON as one line of a stream. What a terminal would obey is escaped.
pub fn print_json_line(value: &impl serde::Serialize) -> Result<()> {
    print(&format!("{}\n", fathom_render::json_line(value)?))
}

/// Writes a file next to its place and moves it there when it is whole, so that nobody opens half
/// of it. Only the user can read it (mode 0600), because logs and stacks hold names that are nobody
/// else's business. What is no regular file is not replaced.
pub fn write_file(path: &Path, content: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() => bail!("{}: not replaced: it is not a regular file", path.display()),
        _ => {}
    }
    let named = || path.display().to_string();
    let file = next_to(path)?;
    let mut out = BufWriter::new(file.as_file());
    content(&mut out).and_then(|()| out.flush()).with_context(named)?;
    drop(out);
    file.persist(path).map_err(|error| error.error).with_context(named)?;
    Ok(())
}

/// The same for what is large and is not quickly made again: what is there already is not
/// replaced, and the file is on the disk before it has its name.
pub fn write_new_file<T>(path: &Path, content: impl FnOnce(&mut BufWriter<&File>) -> Result<T>) -> Result<T> {
    let named = || path.display().to_string();
    // Asked before the work as well as after it.
    if path.symlink_metadata().is_ok() {
        anyhow::bail!("{}: it is there already, and is not written over; give another name", named());
    }
    let file = next_to(path)?;
    let mut out = BufWriter::with_capacity(1 << 20, file.as_file());
    let done = content(&mut out).with_context(named)?;
    out.flush().and_then(|()| file.as_file().sync_all()).with_context(named)?;
    drop(out);
    file.persist_noclobber(path).map_err(|error| error.error).with_context(named)?;
    Ok(done)
}

/// A file of another name in the folder of this one, which goes when it is not given its place.
fn next_to(path: &Path) -> Result<NamedTempFile> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Its error carries the name of the temporary file, which nobody asked for.
    let plain = |error: io::Error| std::fs::metadata(folder).err().unwrap_or_else(|| error.kind().into());
    NamedTempFile::new_in(folder).map_err(plain).with_context(|| path.display().to_string())
}

/// Columns that a text may take: those of the terminal, else what a mail holds.
pub fn columns() -> usize {
    terminal_size::terminal_size().map_or(fathom_render::WIDEST, |(width, _)| usize::from(width.0))
}

/// Prints a text that knows nothing of the terminal: lines that are too long for it go on below.
pub fn print_fitted(text: &str) -> anyhow::Result<()> {
    print(&fathom_render::fit(text, columns()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_not_there_is_an_error_that_names_what_was_asked_for_and_nothing_else() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("missing/report.html");
        let named = path.display().to_string();
        let written = write_file(&path, |_| Ok(())).expect_err("no folder");
        let new = write_new_file(&path, |_| Ok(())).expect_err("no folder");
        for error in [written, new] {
            let text = format!("{error:#}");
            assert!(text.starts_with(&named), "{text}");
            assert_eq!(text.matches(".tmp").count(), named.matches(".tmp").count(), "{text}");
            assert!(text.contains("No such file or directory"), "{text}");
        }
    }
}
