//! Diagnostic commands of a running JVM, those of `jcmd`: "VM.version", "VM.flags", "Thread.print",
//! "JFR.start …".

use std::time::Duration;

use crate::Result;
use crate::attach::Attach;

impl Attach {
    /// Runs a diagnostic command with its arguments in one line, as `jcmd PID …` takes it, and
    /// returns what it prints.
    ///
    /// A command that the JVM does not know, or that fails inside it, is
    /// [`AttachError::Refused`](crate::attach::AttachError::Refused) with the JVM's own words.
    pub fn jcmd(&self, command: &str) -> Result<String> {
        self.execute("jcmd", &[command])
    }

    /// Like [`Attach::jcmd`], for a command that may take long.
    pub fn jcmd_within(&self, patience: Duration, command: &str) -> Result<String> {
        self.execute_within(patience, "jcmd", &[command])
    }
}

/// Quotes a value for a diagnostic command's argument (`name=value`) in the way that HotSpot's
/// `DCmdArgIter` understands. `None`: it holds both kinds of quotes, or a line break, and cannot be
/// quoted.
pub fn quoted(value: &str) -> Option<String> {
    let quote = ['"', '\''].into_iter().find(|quote| !value.contains(*quote))?;
    (!value.contains(['\n', '\r', '\0'])).then(|| format!("{quote}{value}{quote}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_or_refused() {
        assert_eq!(quoted("/tmp/a b"), Some("\"/tmp/a b\"".to_owned()));
        assert_eq!(quoted("a\"b"), Some("'a\"b'".to_owned()));
        assert_eq!((quoted("a\"b'c"), quoted("a\nb")), (None, None));
    }
}
