//! `fathom flame`: samples as a flame graph or a table of frames.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use fathom_diagnose::WindowSpec;
use fathom_diagnose::stacks::{Base, Flame, Normalisation, Selection, Shape, flame};
use fathom_recording::Recording;
use fathom_render::flame::{About, TopBy, TopOptions};

use crate::exit::Outcome;
use crate::inputs::InputArgs;
use crate::output::{columns, print, print_json, write_file};
use crate::selection::{SelectionArgs, windows};

/// Frames that `--top` shows when no number is given.
const TOP: &str = "30";

/// Arguments of `fathom flame`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Show samples as a flame graph or a table of frames: one recording, or two windows compared",
    long_about = "Shows samples with stacks as a flame graph, or as a table of the time of each frame.

It works on everything that has stacks: recordings, JFR files, profilers' output. Each box is a frame, callers \
above; its width is its time with all that it called. Colours, letters and patterns distinguish interpreted, C1, \
C2 and inlined Java, the JVM, native libraries and the kernel. A method is one box however it was compiled; its \
details say how much of it ran as what.

With --diff everything is compared with another window or another recording: differences beyond noise are \
coloured, the rest is grey. docs/flame.md describes how noise is estimated.",
    after_long_help = "Examples:
  fathom flame app.jfr                               one page, flame.html: search, zoom, keys, all kinds of samples
  fathom flame app.jfr --top                         what took the time, as a table
  fathom flame NAME.fathom --window 115s..125s --diff 20s..110s -o slow.html
  fathom flame new.jfr --diff old.jfr --normalise share --top --by change
  fathom flame NAME.fathom --kind waits --role app -o waits.svg         what threads waited for, long and short
  fathom flame NAME.fathom --role gc,jit --per-thread
  fathom flame NAME.fathom -o - | flamegraph.pl > x.svg      folded stacks on standard output"
)]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Compare with another window (20s..110s), or another recording or file; give both for a
    /// window of the other
    #[arg(long, value_name = "WINDOW|INPUT", allow_hyphen_values = true)]
    diff: Vec<Against>,
    /// How the two sides are normalised
    #[arg(long, value_name = "BY", default_value = "wall", requires = "diff")]
    normalise: NormaliseBy,
    /// Inverted: callers below what they called
    #[arg(long)]
    inverted: bool,
    /// Divide by process and thread
    #[arg(long)]
    per_thread: bool,
    /// Divide by source line as well as by method
    #[arg(long)]
    lines: bool,
    /// A table in the terminal instead of a picture; --top=50 for as many frames
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = TOP, require_equals = true)]
    top: Option<usize>,
    /// What the table of --top, or the frames of --json, is sorted by [default: self]
    #[arg(long, value_name = "BY")]
    by: Option<By>,
    /// The file to write, by its extension: .html, .svg, .folded (`-`: folded on standard output).
    /// An existing file is replaced; only you can read it [default: flame.html]
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["top", "json"])]
    output: Option<PathBuf>,
    /// As JSON (schema fathom.flame/1): frames and tree
    #[arg(long)]
    json: bool,
}

/// What `--diff` names.
#[derive(Clone, Debug)]
enum Against {
    Window(WindowSpec),
    Input(PathBuf),
}

impl FromStr for Against {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if Path::new(text).exists() {
            return Ok(Self::Input(text.into()));
        }
        text.parse().map(Self::Window).map_err(|e| format!("neither a file nor a window: {e}"))
    }
}

/// `--normalise`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NormaliseBy {
    /// Per second of wall time
    Wall,
    /// As a share of all samples
    Share,
    /// Per operation that the throughput series counts
    Operation,
}

/// `--by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// What frames took themselves
    #[value(name = "self")]
    Own,
    /// What they took with all that they called
    Total,
    /// What changed most, beyond noise first (with --diff)
    Change,
}

/// What is written.
enum Target {
    Html(PathBuf),
    Svg(PathBuf),
    Folded(Option<PathBuf>),
    Top(TopOptions),
    Json(TopOptions),
}

impl Args {
    /// Draws.
    pub fn run(self) -> Result<Outcome> {
        let target = self.target()?;
        let mut recording = self.inputs.load()?.recording;
        let mut selection = self.selection.selection(&recording)?;
        let kinds = self.selection.kinds(&recording)?;
        self.selection.warn_of_parts(&recording);
        let title = crate::inputs::in_words(&recording);
        let about = About::of(&recording, title, self.selection.in_words(), self.inverted);
        let base = self.base(&mut recording, &mut selection)?;
        let shape = Shape { per_thread: self.per_thread, lines: self.lines };
        let all = matches!(target, Target::Html(_));
        let flames =
            draw(&recording, &kinds, &selection, shape, base.as_ref(), all, !self.selection.kind.is_empty())?;
        let Some(first) = flames.first() else { bail!("nothing to draw") };
        match target {
            Target::Html(path) => {
                write_file(&path, |out| fathom_render::flame::html(&flames, &about, out))?;
                eprintln!("fathom: flame graph in {}", path.display());
            }
            Target::Svg(path) => {
                write_file(&path, |out| fathom_render::flame::svg(first, &about, out))?;
                eprintln!("fathom: flame graph in {}", path.display());
            }
            Target::Folded(Some(path)) => {
                write_file(&path, |out| fathom_render::export::folded(&first.tree, false, out))?;
                eprintln!("fathom: folded stacks in {}, in {}", path.display(), first.unit);
            }
            Target::Folded(None) => {
                let mut out = std::io::BufWriter::new(std::io::stdout().lock());
                let written = fathom_render::export::folded(&first.tree, false, &mut out);
                written.and_then(|()| out.flush()).context("standard output")?;
            }
            Target::Top(options) => print(&fathom_render::flame::top(first, &about, options, columns()))?,
            Target::Json(options) => print_json(&fathom_render::flame::json(first, options))?,
        }
        Ok(Outcome::Done)
    }

    fn target(&self) -> Result<Target> {
        let is_table = self.json || self.top.is_some();
        ensure!(is_table || self.by.is_none(), "--by sorts a table: give it with --top or --json");
        ensure!(
            self.by != Some(By::Change) || !self.diff.is_empty(),
            "--by change needs something to compare with: --diff WINDOW or --diff INPUT"
        );
        let by = match self.by.unwrap_or(By::Own) {
            By::Own => TopBy::Own,
            By::Total => TopBy::Total,
            By::Change => TopBy::Change,
        };
        if self.json {
            return Ok(Target::Json(TopOptions { most: self.top.unwrap_or(usize::MAX), by }));
        }
        if let Some(most) = self.top {
            return Ok(Target::Top(TopOptions { most, by }));
        }
        let path = self.output.clone().unwrap_or_else(|| "flame.html".into());
        if path.as_os_str() == "-" {
            return Ok(Target::Folded(None));
        }
        match path.extension().and_then(|e| e.to_str()) {
            Some("html" | "htm") => Ok(Target::Html(path)),
            Some("svg") => Ok(Target::Svg(path)),
            Some("folded" | "collapsed") => Ok(Target::Folded(Some(path))),
            _ => bail!(
                "{}: the extension decides what is written: .html, .svg or .folded; other formats are written by fathom export",
                path.display()
            ),
        }
    }

    /// The other side of a comparison. Another recording becomes part of this one, distinguished by
    /// its sources.
    fn base(&self, recording: &mut Recording, selection: &mut Selection) -> Result<Option<Base>> {
        if self.diff.is_empty() {
            return Ok(None);
        }
        let specs: Vec<WindowSpec> = self.diff.iter().filter_map(Against::window).collect();
        let inputs: Vec<PathBuf> = self.diff.iter().filter_map(Against::input).collect();
        let mut base = selection.clone();
        if inputs.is_empty() {
            base.windows = windows(recording, &specs)?;
            anyhow::ensure!(
                !selection.windows.is_empty(),
                "--diff WINDOW: which window is it compared with? Give it with --window"
            );
        } else {
            let other = InputArgs { inputs, align: Vec::new() }.load()?.recording;
            base.windows = windows(&other, &specs)?;
            let before = recording.sources.len() as u32;
            recording.append(other);
            recording.seal();
            selection.sources_to = Some(before);
            base.sources_from = before;
        }
        let normalisation = match self.normalise {
            NormaliseBy::Wall => Normalisation::Wall,
            NormaliseBy::Share => Normalisation::Share,
            NormaliseBy::Operation => Normalisation::Operation,
        };
        Ok(Some(Base { selection: base, normalisation }))
    }
}

impl Against {
    fn window(&self) -> Option<WindowSpec> {
        match self {
            Self::Window(spec) => Some(spec.clone()),
            Self::Input(_) => None,
        }
    }

    fn input(&self) -> Option<PathBuf> {
        match self {
            Self::Window(_) => None,
            Self::Input(path) => Some(path.clone()),
        }
    }
}

/// The graphs of some kinds: all of them, or the first. A kind that nobody asked for by name and
/// that has no sample in the selection is passed over.
fn draw(
    recording: &Recording,
    kinds: &[String],
    selection: &Selection,
    shape: Shape,
    base: Option<&Base>,
    all: bool,
    asked: bool,
) -> Result<Vec<Flame>> {
    let mut flames = Vec::new();
    let mut none = None;
    for kind in kinds {
        let chosen = Selection { kind: kind.clone(), ..selection.clone() };
        let base = base.map(|b| Base {
            selection: Selection { kind: kind.clone(), ..b.selection.clone() },
            ..b.clone()
        });
        if !all && !flames.is_empty() {
            break;
        }
        match flame(recording, &chosen, shape, base.as_ref()) {
            Ok(flame) => flames.push(flame),
            Err(error) if asked => return Err(error.into()),
            Err(error) => none = none.or(Some(error)),
        }
    }
    if let Some(first) = flames.first().filter(|_| !all && !asked && kinds.len() > 1) {
        let others: Vec<&str> = kinds.iter().map(String::as_str).filter(|k| *k != first.kind).collect();
        eprintln!("fathom: this is of {}; --kind takes another: {}", first.kind, others.join(", "));
    }
    match (flames.is_empty(), none) {
        (true, Some(error)) => Err(error.into()),
        _ => Ok(flames),
    }
}
