//! A bar on standard error while a large dump is read, with the time that remains.

use std::io::IsTerminal;
use std::path::Path;

use fathom_heap::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// Reading less takes no time worth a bar, bytes.
const LARGE: u64 = 64 << 20;
/// Steps of the bar.
const STEPS: u64 = 1000;

/// The bar; none where nobody looks at it.
pub struct Bar(Option<ProgressBar>);

impl Bar {
    /// Of a dump.
    pub fn of(path: &Path) -> Self {
        let is_large = path.metadata().is_ok_and(|about| about.len() >= LARGE);
        if !is_large || !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let style = ProgressStyle::with_template("reading {prefix}: {percent}% {wide_bar} {eta} left").ok();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bar = |style| {
            let name = fathom_render::printable(&name).into_owned();
            ProgressBar::new(STEPS).with_style(style).with_prefix(name)
        };
        Self(style.map(bar))
    }

    /// What moves it.
    pub fn progress(&self) -> Progress {
        match self.0.clone() {
            Some(bar) => Progress::new(move |done| bar.set_position((done * STEPS as f64) as u64)),
            None => Progress::default(),
        }
    }

    /// Removes it: what was asked for follows.
    pub fn clear(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
