//! `fathom completions`: what a shell needs to complete commands, options and their values.

use clap::CommandFactory;
use clap_complete::Shell;

use super::Cli;
use crate::exit::Outcome;
use crate::output::print;

/// Arguments of `fathom completions`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "Examples:
  fathom completions bash > /etc/bash_completion.d/fathom
  fathom completions zsh > \"${fpath[1]}/_fathom\"
  fathom completions fish > ~/.config/fish/completions/fathom.fish")]
pub struct Args {
    /// The shell
    shell: Shell,
}

impl Args {
    /// Prints the script.
    pub fn run(self) -> anyhow::Result<Outcome> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "fathom", &mut script);
        print(&String::from_utf8_lossy(&script))?;
        Ok(Outcome::Done)
    }
}
