//! What a recording is of, in terms that hold outside of it: rows of many recordings can lie in one
//! table.
//!
//! All ids within a recording ([`crate::ProcessId`] …) are its own. Host, boot, container, service
//! and version are what distinguishes the rows of one machine from those of another. What is
//! unknown is `None`, never invented: a recording of log files has no host unless the user names
//! it, and one of an older version has none of this.

use std::collections::BTreeMap;
use std::io::Read;

use serde::{Deserialize, Serialize};

use crate::Process;

/// Characters of any of these texts that are kept: names are shorter.
const LONGEST: usize = 200;
/// Labels that are kept.
const MOST_LABELS: usize = 64;

/// Where the name of a service comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceFrom {
    /// The user named it.
    Given,
    /// Published by the program itself, for readers outside, as OpenTelemetry's process context.
    OtelProcessContext,
    /// Derived from the variable `OTEL_SERVICE_NAME` in the environment of what is recorded.
    OtelServiceName,
    /// Derived from the systemd unit whose control group the process is in.
    SystemdUnit,
    /// Derived from the main class or jar, which all JVMs of the recording have in common.
    MainClass,
}

impl ServiceFrom {
    /// In words, to be shown after the name.
    pub fn words(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::OtelProcessContext => "published by the program (OTEL_CTX)",
            Self::OtelServiceName => "derived from OTEL_SERVICE_NAME",
            Self::SystemdUnit => "derived from the systemd unit",
            Self::MainClass => "derived from the main class",
        }
    }

    /// The value in tables, as in `meta.json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::OtelProcessContext => "otel-process-context",
            Self::OtelServiceName => "otel-service-name",
            Self::SystemdUnit => "systemd-unit",
            Self::MainClass => "main-class",
        }
    }
}

/// What a recording is of. See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Identity {
    /// The recording itself: 128 random bits, 32 hexadecimal digits.
    pub recording: Option<String>,
    /// Name of the host that fathom ran on.
    pub host: Option<String>,
    /// The kernel's id of the boot.
    pub boot: Option<String>,
    /// The container that the recorded process is in, as its control group names it.
    pub container: Option<String>,
    /// The control group of the recorded process.
    pub cgroup: Option<String>,
    /// The service that the recorded process is a replica of.
    pub service: Option<String>,
    /// Where its name comes from.
    pub service_from: Option<ServiceFrom>,
    /// Version of the service, as the user names it.
    pub version: Option<String>,
    /// Further labels that the user gave.
    pub labels: BTreeMap<String, String>,
}

impl Identity {
    /// A new id for a recording; `None` where the system gives no random bits.
    pub fn new_recording_id() -> Option<String> {
        let mut bytes = [0; 16];
        std::fs::File::open("/dev/urandom").ok()?.read_exact(&mut bytes).ok()?;
        Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Whether a text is an id as [`Self::new_recording_id`] makes them: it becomes part of file
    /// names.
    pub fn is_recording_id(text: &str) -> bool {
        text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    }

    /// Derives the name of the service from the processes, where nothing better is known: the
    /// name that all JVMs of the recording have in common. A recording of several programs has
    /// none.
    pub fn derive_service(&mut self, processes: &[Process]) {
        if self.service.is_some() {
            return;
        }
        let mut names = processes.iter().filter(|p| p.jvm && !p.name.is_empty()).map(|p| p.name.as_str());
        let Some(first) = names.next() else { return };
        if names.all(|name| name == first) {
            self.service = Some(plain(first));
            self.service_from = Some(ServiceFrom::MainClass);
        }
    }

    /// What holds for both, for a recording that is made of two. It has the id of neither.
    pub fn in_common(&mut self, other: &Self) {
        let keep = |ours: &mut Option<String>, theirs: &Option<String>| {
            if ours != theirs {
                *ours = None;
            }
        };
        self.recording = None;
        keep(&mut self.host, &other.host);
        keep(&mut self.boot, &other.boot);
        keep(&mut self.container, &other.container);
        keep(&mut self.cgroup, &other.cgroup);
        keep(&mut self.service, &other.service);
        keep(&mut self.version, &other.version);
        if self.service.is_none() || self.service_from != other.service_from {
            self.service_from = None;
        }
        self.labels.retain(|key, value| other.labels.get(key) == Some(value));
    }

    /// Of an untrusted file: an invalid id is an error, and texts are truncated and cleaned.
    pub fn checked(mut self) -> Result<Self, String> {
        if let Some(id) = self.recording.as_ref().filter(|id| !Self::is_recording_id(id)) {
            return Err(format!("the recording's id is not 32 hexadecimal digits: {}", plain(id)));
        }
        let texts = [
            &mut self.host,
            &mut self.boot,
            &mut self.container,
            &mut self.cgroup,
            &mut self.service,
            &mut self.version,
        ];
        for text in texts {
            *text = text.as_deref().map(plain).filter(|text| !text.is_empty());
        }
        let labels = std::mem::take(&mut self.labels).into_iter().take(MOST_LABELS);
        self.labels = labels.map(|(key, value)| (plain(&key), plain(&value))).collect();
        Ok(self)
    }
}

/// A text without control characters, of bounded length.
pub fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test panics where it fails")]
    use super::*;

    fn jvm(name: &str) -> Process {
        Process { name: name.into(), jvm: true, ..Process::default() }
    }

    #[test]
    fn ids_are_32_digits_and_differ() {
        let (a, b) = (Identity::new_recording_id().unwrap(), Identity::new_recording_id().unwrap());
        assert!(Identity::is_recording_id(&a) && Identity::is_recording_id(&b) && a != b);
        assert!(!Identity::is_recording_id("../../../../etc/cron.d/x0000000"));
    }

    #[test]
    fn a_service_is_derived_only_where_all_jvms_have_one_name() {
        let mut identity = Identity::default();
        identity.derive_service(&[jvm("Shop"), jvm("Bank")]);
        assert_eq!((&identity.service, identity.service_from), (&None, None));
        identity.derive_service(&[jvm("Shop"), Process { name: "dd".into(), ..Process::default() }]);
        assert_eq!(identity.service.as_deref(), Some("Shop"));
        assert_eq!(identity.service_from, Some(ServiceFrom::MainClass));
        let given = Identity { service: Some("shop".into()), ..Identity::default() };
        let mut derived = given.clone();
        derived.derive_service(&[jvm("Shop")]);
        assert_eq!(derived, given);
    }

    #[test]
    fn of_two_recordings_only_what_both_say_is_kept() {
        let of = |host: &str, labels: &[(&str, &str)]| Identity {
            recording: Identity::new_recording_id(),
            host: Some(host.into()),
            service: Some("shop".into()),
            service_from: Some(ServiceFrom::Given),
            labels: labels.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
            ..Identity::default()
        };
        let mut both = of("a", &[("zone", "1"), ("tier", "gold")]);
        both.in_common(&of("b", &[("zone", "2"), ("tier", "gold")]));
        assert_eq!((&both.recording, &both.host), (&None, &None));
        assert_eq!((both.service.as_deref(), both.service_from), (Some("shop"), Some(ServiceFrom::Given)));
        assert_eq!(both.labels.into_iter().collect::<Vec<_>>(), [("tier".to_owned(), "gold".to_owned())]);
    }

    #[test]
    fn what_somebody_else_wrote_is_checked() {
        let path = Identity { recording: Some("../../x".into()), ..Identity::default() };
        assert!(path.checked().unwrap_err().contains("32 hexadecimal digits"));
        let long =
            Identity { host: Some(format!("a\u{1b}[2J\n{}", "b".repeat(9_999))), ..Identity::default() };
        let host = long.checked().unwrap().host.unwrap();
        assert!(host.starts_with("a[2Jbb") && host.len() == LONGEST, "{host}");
    }
}
