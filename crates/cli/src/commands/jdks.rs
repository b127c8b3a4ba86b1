//! `fathom jdks`: the JDKs that fathom can use here.

use crate::exit::Outcome;
use crate::jdk;
use crate::output::{print, print_json};

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
        if self.json {
            print_json(&serde_json::json!({ "schema": "fathom.jdks/1", "jdks": jdks }))?;
            return Ok(Outcome::Done);
        }
        let mut text = String::new();
        if jdks.is_empty() {
            text += "no JDK found: set JAVA_HOME, or install one (Debian: apt-get install default-jdk-headless)\n";
        }
        for jdk in jdks {
            let kind = if jdk.javac { "JDK" } else { "runtime" };
            let version = format!("{} {}", jdk.version, jdk.implementor);
            text += &format!("{:>3}  {kind:<8} {version:<28} {}\n", jdk.feature, jdk.home.display());
        }
        print(&text)?;
        Ok(Outcome::Done)
    }
}
