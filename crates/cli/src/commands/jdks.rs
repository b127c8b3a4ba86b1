//! `fathom jdks`: the JDKs that fathom can use here.

use std::io::Write;

use crate::exit::Outcome;
use crate::jdk;

/// Arguments of `fathom jdks`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// As JSON (schema fathom.jdks/1)
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Lists the JDKs.
    pub fn run(self) -> anyhow::Result<Outcome> {
        let jdks = jdk::find();
        let mut out = std::io::stdout().lock();
        if self.json {
            let list = serde_json::json!({ "schema": "fathom.jdks/1", "jdks": jdks });
            writeln!(out, "{list:#}")?;
            return Ok(Outcome::Done);
        }
        if jdks.is_empty() {
            writeln!(
                out,
                "no JDK found: set JAVA_HOME, or install one (Debian: apt-get install default-jdk-headless)"
            )?;
        }
        for jdk in jdks {
            let kind = if jdk.javac { "JDK" } else { "runtime" };
            let version = format!("{} {}", jdk.version, jdk.implementor);
            writeln!(out, "{:>3}  {kind:<8} {version:<28} {}", jdk.feature, jdk.home.display())?;
        }
        Ok(Outcome::Done)
    }
}
