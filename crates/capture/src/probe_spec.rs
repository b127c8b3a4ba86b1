//! What a user asks to be probed, as text.

use std::fmt;
use std::str::FromStr;

/// A probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// A function: its calls, from entry to return.
    Uprobe {
        /// A library that the process maps: its file name, or a path.
        library: String,
        /// A function of it, mangled or as people write it.
        symbol: String,
    },
    /// A probe that the makers of a library put into it.
    Usdt {
        /// As above.
        library: String,
        /// Who put it there.
        provider: String,
        /// Its name.
        name: String,
    },
    /// A tracepoint of the kernel.
    Tracepoint {
        /// "sched".
        category: String,
        /// "sched_process_fork".
        name: String,
    },
    /// Allocations of a JVM as far as it takes its slow path: a new buffer for a thread, or an
    /// object outside of one.
    Alloc,
}

impl Spec {
    /// How a spec begins that is no name of its own.
    pub const PREFIXES: [&'static str; 3] = ["uprobe:", "usdt:", "tracepoint:"];
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let part = |text: &str| text.to_owned();
        match kind {
            "alloc" if rest.is_empty() => Ok(Self::Alloc),
            "uprobe" => match rest.split_once(':') {
                Some((library, symbol)) if !library.is_empty() && !symbol.is_empty() => {
                    Ok(Self::Uprobe { library: part(library), symbol: part(symbol) })
                }
                _ => Err("write uprobe:LIBRARY:FUNCTION, as uprobe:libc.so.6:open64".into()),
            },
            "usdt" => match rest.splitn(3, ':').collect::<Vec<_>>()[..] {
                [library, provider, name]
                    if !library.is_empty() && !provider.is_empty() && !name.is_empty() =>
                {
                    Ok(Self::Usdt { library: part(library), provider: part(provider), name: part(name) })
                }
                _ => Err("write usdt:LIBRARY:PROVIDER:NAME, as usdt:libjvm.so:hotspot:gc__begin".into()),
            },
            "tracepoint" => match rest.split_once(':') {
                Some((category, name)) if is_word(category) && is_word(name) => {
                    Ok(Self::Tracepoint { category: part(category), name: part(name) })
                }
                _ => Err("write tracepoint:CATEGORY:NAME, as tracepoint:sched:sched_process_fork".into()),
            },
            _ => Err("write uprobe:…, usdt:… or tracepoint:…".into()),
        }
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uprobe { library, symbol } => write!(f, "uprobe:{library}:{symbol}"),
            Self::Usdt { library, provider, name } => write!(f, "usdt:{library}:{provider}:{name}"),
            Self::Tracepoint { category, name } => write!(f, "tracepoint:{category}:{name}"),
            Self::Alloc => f.write_str("alloc"),
        }
    }
}

/// A name of the kernel's: no way out of its directory.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_read_back_as_they_are_written_and_others_say_how() {
        for text in [
            "uprobe:libc.so.6:open64",
            "uprobe:libjvm.so:ObjectMonitor::enter",
            "usdt:libjvm.so:hotspot:gc__begin",
            "tracepoint:sched:sched_process_fork",
        ] {
            assert_eq!(text.parse::<Spec>().unwrap().to_string(), text);
        }
        for text in ["uprobe:x", "usdt:a:b", "tracepoint:a:../b", "tracepoint:a", "x", "", "uprobe::f"] {
            assert!(text.parse::<Spec>().unwrap_err().starts_with("write "), "{text}");
        }
    }
}
