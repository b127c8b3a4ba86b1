//! What a recording is of, as the user says it: service, version, labels.

use std::str::FromStr;

use fathom_capture::{Selection, Targets};
use fathom_recording::identity::plain;
use fathom_recording::secrets::{is_secret, masked_urls};
use fathom_recording::{Identity, ServiceFrom};

/// Arguments of every command that makes a recording.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct IdentityArgs {
    /// The service that this is a replica of, for `fathom fleet` [default: derived from
    /// OTEL_SERVICE_NAME, the systemd unit or the main class, and marked as derived]
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub service: Option<String>,
    /// The version of the service that runs: 2.3.1, a commit
    #[arg(long, value_name = "VERSION", value_parser = name)]
    pub version_label: Option<String>,
    /// Anything else to distinguish recordings by: `--label zone=b`; may be given several times; no
    /// secrets
    #[arg(long, value_name = "KEY=VALUE")]
    pub label: Vec<Label>,
}

/// A label that the user gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    key: String,
    value: String,
}

impl FromStr for Label {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
        let (key, value) = (name(key)?, masked_urls(&plain(value)));
        if is_secret(&key) {
            return Err(format!("{key} looks like the name of a secret, and a recording is given to others"));
        }
        Ok(Self { key, value })
    }
}

/// A name that is there and has no control characters.
fn name(text: &str) -> Result<String, String> {
    let name = plain(text.trim());
    if name.is_empty() { Err("a name is empty".into()) } else { Ok(name) }
}

impl IdentityArgs {
    /// What was given, above what is known otherwise.
    pub fn over(&self, mut known: Identity) -> Identity {
        if let Some(service) = &self.service {
            (known.service, known.service_from) = (Some(service.clone()), Some(ServiceFrom::Given));
        }
        known.version = self.version_label.clone().or(known.version);
        known.labels.extend(self.label.iter().map(|label| (label.key.clone(), label.value.clone())));
        known
    }

    /// The same of what is recorded live: above what the kernel knows of JVMs, or of all processes
    /// where there is none.
    pub fn live(&self, targets: &Targets) -> Identity {
        let pids = |jvms: bool| targets.iter().filter(move |t| t.jvm || !jvms).map(|t| t.pid);
        let mut all: Vec<i32> = pids(true).collect();
        if all.is_empty() {
            all = pids(false).collect();
        }
        if let (true, Selection::Pids(named)) = (all.is_empty(), targets.selection()) {
            all.clone_from(named);
        }
        self.over(fathom_capture::identity::identity(all))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test panics where it fails")]
    use super::*;

    #[test]
    fn a_label_that_looks_like_a_secret_is_refused() {
        assert!("api-token=abc".parse::<Label>().unwrap_err().contains("secret"));
        assert!("zone".parse::<Label>().is_err());
        assert!("=b".parse::<Label>().is_err());
        let label: Label = "db=jdbc:mysql://shop:hunter2@db/shop".parse().unwrap();
        assert_eq!(label.value, "jdbc:mysql://shop:***@db/shop");
    }

    #[test]
    fn what_is_given_stands_above_what_is_derived() {
        let known = Identity {
            service: Some("Main".into()),
            service_from: Some(ServiceFrom::MainClass),
            host: Some("web-1".into()),
            ..Identity::default()
        };
        assert_eq!(IdentityArgs::default().over(known.clone()), known);
        let given = IdentityArgs { service: Some("shop".into()), ..IdentityArgs::default() };
        let identity = given.over(known);
        assert_eq!(identity.service_from, Some(ServiceFrom::Given));
        assert_eq!((identity.service.as_deref(), identity.host.as_deref()), (Some("shop"), Some("web-1")));
    }
}
