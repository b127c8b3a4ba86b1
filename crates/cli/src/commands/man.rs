//! `fathom man`: the manual as pages that `man` shows, made from the same declaration as `--help`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::CommandFactory;

use super::Cli;
use crate::exit::Outcome;
use crate::output::print;

/// Arguments of `fathom man`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "Examples:
  fathom man /usr/local/share/man/man1            man fathom, man fathom-record
  fathom man . && man ./fathom-diagnose.1")]
pub struct Args {
    /// The folder to write the pages to; it is created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Args {
    /// Writes the pages.
    pub fn run(self) -> anyhow::Result<Outcome> {
        std::fs::create_dir_all(&self.folder).with_context(|| format!("{}", self.folder.display()))?;
        let mut cli = Cli::command();
        // So that options that all commands have are in the page of each.
        cli.build();
        let mut pages = vec![page(&self.folder, cli.clone())?];
        for command in cli.get_subcommands().filter(|command| command.get_name() != "help") {
            pages.push(page(&self.folder, command.clone())?);
        }
        print(&format!("{} pages in {}\n", pages.len(), self.folder.display()))?;
        Ok(Outcome::Done)
    }
}

/// Writes the page of a command: "fathom.1", "fathom-record.1".
fn page(folder: &Path, command: clap::Command) -> anyhow::Result<PathBuf> {
    let man = clap_mangen::Man::new(command);
    let path = folder.join(man.get_filename());
    let mut text = Vec::new();
    man.render(&mut text)?;
    std::fs::write(&path, text).with_context(|| format!("{}", path.display()))?;
    Ok(path)
}
