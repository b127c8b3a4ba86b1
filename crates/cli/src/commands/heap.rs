//! `fathom heap`: who keeps what in a heap dump.

mod bar;
mod dump;
mod page;
mod redacted;
mod running;
mod tables;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fathom_heap::report::{About, ClassReport, ObjectReport, Picture, Screen, WaysReport};
use fathom_heap::{Growth, Heap, Kept, Paths, Referents, Summary};

use super::record::duration;
use crate::exit::Outcome;
use crate::output::{print_fitted, print_json};
use bar::Bar;

/// Arguments of `fathom heap`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Show who retains what in a heap dump: the largest holders, the paths to them, classes, waste",
    long_about = "Shows who retains what in a heap dump, in HPROF as HotSpot writes it, compressed or not.

The retained size of an object is what would be freed if the object were: computed exactly, by the dominator tree. \
The largest holders come first, each with the shortest path from a GC root; a holder is called a suspect only by a \
measure that is shown with it. Two dumps of one program show what grew, and where it is held. Values of strings, \
of fields and of arrays are not shown; names of threads are.",
    after_long_help = "Examples:
  fathom heap dump.hprof                      who retains most, classes, threads, waste
  fathom heap dump.hprof.gz --top 50          more rows; packed by jcmd PID GC.heap_dump -gz=1 FILE
  fathom heap dump.hprof --html heap.html     one page: the dominator tree as a picture, paths from the roots, tables
  fathom heap monday.hprof friday.hprof       what grew, and where it is kept
  fathom heap dump.hprof --class org.example.Session
  fathom heap dump.hprof --object 0xf5755eb8  its fields, what retains it, what it retains
  fathom heap dump.hprof --paths 0xf5755eb8   the paths from the roots to it
  fathom heap dump.hprof --sql 'SELECT class, sum(shallow) FROM objects GROUP BY class'
  fathom heap dump.hprof --tables DIR         Parquet tables for any engine; fathom heap DIR --sql QUERY asks again
  fathom heap dump.hprof --redacted copy.hprof.gz   a copy to send: all values are zero, sizes and shape are kept
  fathom heap dump.hprof --json | jq '.holders.all[0]'
  fathom heap -p 4711                         what is in a running heap by class, without a stop
  fathom heap -p 4711 --every 10s             what grows in it
  fathom heap -p 4711 --dump now.hprof        dump a running JVM first (which stops it meanwhile), then the same"
)]
pub struct Args {
    /// The dump; two of them: what grew from the first to the second. With --sql also a folder that
    /// --tables wrote
    #[arg(value_name = "DUMP", num_args = 1..=2, required_unless_present = "pid")]
    dumps: Vec<PathBuf>,
    /// The heap of this running JVM by class, without stopping it (G1, Parallel, Serial); with
    /// --dump it is dumped first, which stops it meanwhile
    #[arg(short, long, value_name = "PID", conflicts_with = "dumps")]
    pid: Option<u32>,
    /// Where the dump of the JVM goes
    // What conflicts with -p excuses from needing it: what belongs to -p says so itself.
    #[arg(long, value_name = "FILE", requires = "pid", conflicts_with = "dumps")]
    dump: Option<PathBuf>,
    /// With -p: repeat at this interval, with what grew since the first time: 10s, 500ms
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "pid", conflicts_with_all = ["dump", "dumps"])]
    every: Option<Duration>,
    /// With --dump: dump garbage, too. Otherwise the JVM does a full collection before
    #[arg(long, requires = "dump", conflicts_with = "dumps")]
    with_garbage: bool,
    /// Details of the objects of a class
    #[arg(long, value_name = "NAME", conflicts_with_all = ["object", "paths"])]
    class: Option<String>,
    /// Details of an object, by its address
    #[arg(long, value_name = "ADDRESS", value_parser = address, conflicts_with = "paths")]
    object: Option<u64>,
    /// The paths from GC roots to an object
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    paths: Option<u64>,
    /// Rows of each table
    #[arg(long, value_name = "N", default_value_t = 15)]
    top: usize,
    /// Ignore soft, weak, phantom and final references; otherwise all references count, as in
    /// Eclipse MAT
    #[arg(long)]
    strong_only: bool,
    /// With --object: the values of texts, fields and arrays of primitive values, which may be
    /// personal data. With --tables and --sql: the tables strings and fields
    #[arg(long, conflicts_with_all = ["class", "paths"])]
    show_values: bool,
    /// Write the dump as Parquet tables into a folder that is empty or missing: objects, classes,
    /// refs, roots, threads (docs/heap.md has the columns)
    #[arg(long, value_name = "DIR", conflicts_with_all = ["class", "object", "paths", "html", "redacted", "every"])]
    tables: Option<PathBuf>,
    /// Ask these tables in SQL, which DuckDB answers (pip install duckdb)
    #[arg(long, value_name = "QUERY", conflicts_with_all = ["class", "object", "paths", "html", "redacted", "every"])]
    sql: Option<String>,
    /// Write a copy in which all values of texts, fields and arrays are zero, to be sent to others:
    /// sizes, references, stacks and names of classes, fields and methods stay. Packed where FILE
    /// ends with .gz
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pid", "class", "object", "paths", "strong_only"])]
    redacted: Option<PathBuf>,
    /// Write one HTML page instead: the dominator tree as a picture to zoom and search in, the
    /// shortest paths from the roots, all tables; `-` for standard output. An existing file is
    /// replaced; only you can read it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["class", "object", "paths", "redacted", "json", "every"])]
    html: Option<PathBuf>,
    /// As JSON; with --every a line each time (schemas fathom.heap/1, fathom.heap-class/1,
    /// fathom.heap-object/1, fathom.heap-paths/1, fathom.heap-growth/1, fathom.heap-redacted/1,
    /// fathom.heap-live/1, fathom.heap-sql/1)
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Whether it is about one dump.
    fn asks_one(&self) -> bool {
        let object = self.class.is_some() || self.object.is_some() || self.paths.is_some();
        object || self.tables.is_some() || self.sql.is_some() || self.html.is_some()
    }

    /// Shows what is asked of the dump.
    pub fn run(self) -> Result<Outcome> {
        if self.show_values && self.object.is_none() && self.tables.is_none() && self.sql.is_none() {
            bail!("--show-values belongs to --object, --tables or --sql");
        }
        if let (Some(pid), None) = (self.pid, &self.dump) {
            if self.asks_one() || self.strong_only {
                bail!(
                    "--class, --object, --paths, --tables, --sql, --html and --strong-only are about a dump: \
                     give --dump FILE"
                );
            }
            running::show(pid, self.every, self.top, self.json)?;
            return Ok(Outcome::Done);
        }
        if let (Some(pid), Some(file)) = (self.pid, &self.dump) {
            dump::dump(pid, file, self.with_garbage)?;
        }
        let dumps: Vec<&Path> = self.dump.iter().chain(&self.dumps).map(PathBuf::as_path).collect();
        if let Some(to) = &self.redacted {
            let [dump] = dumps[..] else { bail!("--redacted copies one dump") };
            redacted::copy(dump, to, self.json)?;
            return Ok(Outcome::Done);
        }
        match dumps[..] {
            [before, after] => self.growth(before, after)?,
            [dump] => self.one(dump)?,
            _ => bail!("give a dump"),
        }
        Ok(Outcome::Done)
    }

    fn read(&self, path: &Path, bar: &Bar) -> Result<Heap> {
        let referents = if self.strong_only { Referents::LeftOut } else { Referents::AsAll };
        Ok(fathom_heap::read_telling(path, referents, fathom_capture::memory_left(), bar.progress())?)
    }

    fn one(&self, path: &Path) -> Result<()> {
        if let (None, Some(query), true) = (&self.tables, &self.sql, tables::are_in(path)) {
            return tables::ask(path, query, self.json);
        }
        if let Some(folder) = &self.tables {
            tables::make(folder)?;
        }
        let bar = Bar::of(path);
        let heap = self.read(path, &bar)?;
        let about = About::of(&heap, path, !self.strong_only);
        let object = self.class.is_some() || self.object.is_some() || self.paths.is_some();
        if !object && self.tables.is_none() && self.sql.is_none() && self.html.is_none() {
            let screen = Screen::of_heap(&heap, about, self.top);
            bar.clear();
            return self.show(&screen, |screen| fathom_render::heap::screen(screen, self.top));
        }
        if let (Some(to), false) = (&self.html, object || self.tables.is_some() || self.sql.is_some()) {
            let picture = Picture::of_heap(&heap, about);
            bar.clear();
            return page::write(&picture, to);
        }
        let kept = Kept::of(&heap);
        bar.clear();
        if self.tables.is_some() || self.sql.is_some() {
            return self.as_tables(&heap, &kept);
        }
        if let Some(name) = &self.class {
            let report = ClassReport::of(&heap, &kept, name, self.top);
            let report = report.with_context(|| {
                let similar = heap.similar_classes(name);
                let similar = match similar.is_empty() {
                    true => String::new(),
                    false => format!("; similar: {}", similar.join(", ")),
                };
                format!("{}: no class {name} in it{similar}", path.display())
            })?;
            return self.show(&report, fathom_render::heap::class);
        }
        if let Some(address) = self.object.or(self.paths) {
            let node = heap.find(address);
            let node = node.with_context(|| format!("{}: no object at {address:#x}", path.display()))?;
            if self.object.is_some() {
                let report = ObjectReport::of(&heap, &kept, node, self.top, self.show_values);
                return self.show(&report, fathom_render::heap::object);
            }
            let report = WaysReport::of(&heap, &kept, &Paths::of(&heap, &kept), node, self.top);
            return self.show(&report, fathom_render::heap::ways);
        }
        Ok(())
    }

    /// The tables, into a folder where one is named, and the answer of a query.
    fn as_tables(&self, heap: &Heap, kept: &Kept) -> Result<()> {
        let write = |folder: &Path, query| tables::write(heap, kept, folder, self.show_values, query);
        match (&self.tables, &self.sql) {
            (Some(folder), None) => write(folder, None),
            (Some(folder), Some(query)) => {
                write(folder, None)?;
                tables::ask(folder, query, self.json)
            }
            (None, Some(query)) => {
                let folder = tables::folder()?;
                write(folder.path(), Some(query))?;
                tables::ask(folder.path(), query, self.json)
            }
            (None, None) => Ok(()),
        }
    }

    fn growth(&self, before: &Path, after: &Path) -> Result<()> {
        if self.asks_one() {
            bail!("--class, --object, --paths, --tables, --sql and --html are about one dump");
        }
        // One after the other: only what is compared stays.
        let summary = |path| -> Result<Summary> {
            let bar = Bar::of(path);
            let heap = self.read(path, &bar)?;
            let kept = Kept::of(&heap);
            bar.clear();
            Ok(Summary::of(&heap, &kept))
        };
        let growth = Growth::between(&summary(before)?, &summary(after)?, self.top);
        self.show(&growth, fathom_render::heap::growth)
    }

    fn show<T: serde::Serialize>(&self, report: &T, text: impl Fn(&T) -> String) -> Result<()> {
        if self.json { print_json(report) } else { print_fitted(&text(report)) }
    }
}

/// An address as it is shown, hexadecimal with or without "0x".
fn address(text: &str) -> Result<u64, String> {
    let digits = text.trim_start_matches("0x");
    u64::from_str_radix(digits, 16)
        .map_err(|_| format!("{text} is not an address: they are hexadecimal, as 0xf5755eb8"))
}
