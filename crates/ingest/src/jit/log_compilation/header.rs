//! The header of a LogCompilation log: which JVM wrote it, how it was started, when.

use fathom_recording::secrets::program_arguments;
use fathom_recording::vocabulary::fact;
use fathom_recording::{Anchor, Process};

use super::markup::{Element, decoded};
use crate::jvm_args;

/// The uncertainty of `time_ms`: it is a whole number of milliseconds (checked against unified
/// logging's `time` decorator of the same runs).
const ANCHOR_UNCERTAINTY_NS: i64 = 1_000_000;
/// Bytes of text that are kept of one part of the header: a long class path, and no more.
const MAX_TEXT: usize = 1 << 20;

/// The part of the header to which a line belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    None,
    Name,
    Release,
    Info,
    Args,
    Command,
    Launcher,
    Properties,
}

impl Part {
    fn of(element: &[u8]) -> Option<Self> {
        Some(match element {
            b"name" => Self::Name,
            b"release" => Self::Release,
            b"info" => Self::Info,
            b"args" => Self::Args,
            b"command" => Self::Command,
            b"launcher" => Self::Launcher,
            b"properties" => Self::Properties,
            _ => return None,
        })
    }
}

/// The header so far.
#[derive(Debug, Default)]
pub(super) struct Header {
    part: Part,
    text: String,
    pub(super) pid: Option<i64>,
    /// Wall-clock time of timestamp 0, nanoseconds since the epoch.
    zero_epoch_ns: Option<i64>,
    name: String,
    release: String,
    info: String,
    args: String,
    command: String,
    specification: String,
}

impl Header {
    /// The root element.
    pub(super) fn open(&mut self, root: &Element<'_>) {
        self.pid = root.number(b"process");
        self.zero_epoch_ns = root.number(b"time_ms").and_then(|ms| ms.checked_mul(1_000_000));
    }

    /// Takes a line if it belongs to the header.
    pub(super) fn take(&mut self, line: &[u8], element: Option<&Element<'_>>) -> bool {
        // A damaged header must not swallow the log.
        if element.is_some_and(|element| element.name == b"tty") {
            self.part = Part::None;
            return false;
        }
        let part = element.and_then(|element| Part::of(element.name).map(|part| (part, element.closes)));
        match part {
            Some((part, false)) if self.part == Part::None => {
                self.part = part;
                self.text.clear();
                true
            }
            Some((part, true)) if self.part == part => {
                self.close();
                true
            }
            _ if self.part == Part::Properties => {
                self.property(line);
                true
            }
            _ if self.part != Part::None => {
                self.text(line);
                true
            }
            _ => false,
        }
    }

    /// Text of a part; the arguments' end tag follows them on the same line.
    fn text(&mut self, line: &[u8]) {
        let (text, closes) = match line.strip_suffix(b"</args>") {
            Some(text) if self.part == Part::Args => (text, true),
            _ => (line, false),
        };
        if self.text.len() + text.len() < MAX_TEXT {
            self.text.push_str(&decoded(text));
            self.text.push(' ');
        }
        if closes {
            self.close();
        }
    }

    fn property(&mut self, line: &[u8]) {
        if let Some(version) = line.strip_prefix(b"java.vm.specification.version=") {
            self.specification = decoded(version).trim().to_owned();
        }
    }

    fn close(&mut self) {
        let text = self.text.trim().to_owned();
        match self.part {
            Part::Name => self.name = text,
            Part::Release => self.release = text,
            Part::Info => self.info = text,
            Part::Args => self.args = text,
            Part::Command => self.command = text,
            Part::None | Part::Launcher | Part::Properties => {}
        }
        self.part = Part::None;
    }

    /// Wall-clock time of timestamp 0.
    pub(super) fn anchor(&self) -> Option<Anchor> {
        Some(Anchor {
            zero_epoch_ns: self.zero_epoch_ns?,
            uncertainty_ns: ANCHOR_UNCERTAINTY_NS,
            how: "time_ms of the log's header".to_owned(),
        })
    }

    /// The tier of a compilation that names none: the highest that the JVM has.
    pub(super) fn highest_tier(&self) -> u8 {
        if self.name.contains("Client VM") { 1 } else { 4 }
    }

    /// The size of the code cache, if it was set.
    pub(super) fn code_cache_bytes(&self) -> Option<u64> {
        jvm_args::size_bytes(&self.args, "-XX:ReservedCodeCacheSize=")
    }

    /// Writes the facts of the process.
    pub(super) fn describe(&self, process: &mut Process) {
        process.pid = process.pid.or(self.pid);
        let main = self.command.split_whitespace().next().unwrap_or_default();
        if !main.is_empty() {
            main.clone_into(&mut process.name);
        }
        let mut fact = |key: &str, value: String| {
            if !value.is_empty() {
                process.facts.insert(key.to_owned(), value);
            }
        };
        fact(fact::MAIN, main.to_owned());
        fact(fact::MAIN_ARGS, program_arguments(self.command.split_whitespace().skip(1)));
        fact(fact::JVM_VERSION, self.version().to_owned());
        fact(fact::JDK, self.feature().unwrap_or_default().to_owned());
        fact(fact::JVM_ARGS, jvm_args::masked(&self.args));
        fact(fact::CODE_CACHE_BYTES, self.code_cache_bytes().map(|b| b.to_string()).unwrap_or_default());
    }

    /// "17.0.15+6-Debian": up to JDK 8 `<release>` is HotSpot's own number, and the JRE's is in
    /// `<info>`.
    fn version(&self) -> &str {
        let jre = self.info.split_once("JRE (").and_then(|(_, rest)| rest.split_once(')'));
        jre.map_or(&self.release, |(version, _)| version)
    }

    /// "17", "8": from the specification's version ("1.8"), otherwise from the JVM's.
    fn feature(&self) -> Option<&str> {
        let version = if self.specification.is_empty() { self.version() } else { &self.specification };
        let version = version.strip_prefix("1.").unwrap_or(version);
        let end = version.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(version.len());
        // JDK 6 has "1.0" as the specification's version.
        version.get(..end).filter(|feature| !feature.is_empty() && *feature != "0")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(log: &str) -> (Header, Process) {
        let mut header = Header::default();
        let mut process = Process::default();
        for line in log.lines() {
            let element = Element::of(line.as_bytes());
            match &element {
                Some(root) if root.name == b"hotspot_log" => header.open(root),
                element => {
                    header.take(line.as_bytes(), element.as_ref());
                }
            }
        }
        header.describe(&mut process);
        (header, process)
    }

    #[test]
    fn the_header_describes_the_process_and_hides_secrets() {
        let (header, process) = parsed(
            "<hotspot_log version='160 1' process='10544' time_ms='1795210275183'>\n<vm_version>\n<name>\n\
             OpenJDK 64-Bit Server VM\n</name>\n<release>\n17.0.15+6-Debian-1deb12u1\n</release>\n<info>\n\
             OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1) for linux-amd64 JRE (17.0.15+6-Debian-1deb12u1)\n\
             </info>\n</vm_version>\n<vm_arguments>\n<args>\n-Xmx1g -XX:ReservedCodeCacheSize=5m -Dx.password=p1 </args>\n\
             <command>\norg.Main &lt;x&gt; --token t0\n</command>\n<properties>\n\
             java.vm.specification.version=17\nsecret.property=s\n</properties>\n</vm_arguments>\n<tty>\n",
        );
        assert_eq!((process.pid, process.name.as_str()), (Some(10544), "org.Main"));
        assert_eq!(process.fact(fact::MAIN), Some("org.Main"));
        assert_eq!(process.fact(fact::JDK), Some("17"));
        assert_eq!(process.fact(fact::JVM_VERSION), Some("17.0.15+6-Debian-1deb12u1"));
        assert_eq!(
            process.fact(fact::JVM_ARGS),
            Some("-Xmx1g -XX:ReservedCodeCacheSize=5m -Dx.password=***")
        );
        assert_eq!(process.fact(fact::CODE_CACHE_BYTES), Some("5242880"));
        assert_eq!(header.anchor().unwrap().zero_epoch_ns, 1_795_210_275_183_000_000);
        assert!(!format!("{:?}", process).contains("p1"));
    }

    #[test]
    fn jdk_8_and_a_client_vm_are_recognised() {
        let (header, process) = parsed(
            "<hotspot_log version='160 1' process='1' time_ms='5'>\n<name>\nJava HotSpot(TM) Client VM\n</name>\n\
             <release>\n25.292-b10\n</release>\n<info>\nJava HotSpot(TM) (25.292-b10) JRE (1.8.0_292-b10), built\n\
             </info>\n<properties>\njava.vm.specification.version=1.8\n</properties>\n",
        );
        assert_eq!(process.fact(fact::JDK), Some("8"));
        assert_eq!(process.fact(fact::JVM_VERSION), Some("1.8.0_292-b10"));
        assert_eq!(header.highest_tier(), 1);
    }

    #[test]
    fn a_head_that_never_ends_does_not_swallow_the_log() {
        let mut header = Header::default();
        let line = b"<args>";
        assert!(header.take(line, Element::of(line).as_ref()));
        let line = b"<tty>";
        assert!(!header.take(line, Element::of(line).as_ref()));
    }
}
