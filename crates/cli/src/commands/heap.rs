//! `fathom heap`: who keeps what in a heap dump.

use std::path::PathBuf;

use fathom_heap::report::{About, Screen};
use fathom_heap::{Kept, Paths, Referents};

use crate::exit::Outcome;
use crate::output::{print, print_json};

/// Arguments of `fathom heap`.
#[derive(clap::Args, Debug)]
#[command(
    long_about = "Who keeps what in a heap dump, in HPROF as HotSpot writes it, packed or plain.

Retained is what would go if an object went: computed exactly, by the dominator tree. The largest holders come first, each with \
the shortest way from a root; a holder is called a suspect only by a measure that is told with it. Values of texts and arrays \
are not shown; names of threads are.",
    after_long_help = "Examples:
  fathom heap dump.hprof                    who holds most, and the tables
  fathom heap dump.hprof.gz --top 50        more rows; packed by jcmd PID GC.heap_dump -gz=1 FILE
  fathom heap dump.hprof --json | jq '.holders.all[0]'"
)]
pub struct Args {
    /// The dump
    #[arg(value_name = "DUMP", required = true)]
    dump: PathBuf,
    /// Rows of each table
    #[arg(long, value_name = "N", default_value_t = 15)]
    top: usize,
    /// Soft, weak, phantom and final references hold nothing; otherwise all references count, as in Eclipse MAT
    #[arg(long)]
    strong_only: bool,
    /// As JSON (schema fathom.heap/1)
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Shows the dump.
    pub fn run(self) -> anyhow::Result<Outcome> {
        let referents = if self.strong_only { Referents::LeftOut } else { Referents::AsAll };
        let heap = fathom_heap::read(&self.dump, referents)?;
        let kept = Kept::of(&heap);
        let paths = Paths::of(&heap, &kept);
        let about = About::of(&heap, &self.dump, !self.strong_only);
        let screen = Screen::of(&heap, &kept, &paths, about, self.top);
        if self.json {
            print_json(&screen)?;
        } else {
            print(&fathom_render::heap::screen(&screen, self.top))?;
        }
        Ok(Outcome::Done)
    }
}
