//! What profiles are of: a process, a container, a host, as attributes of the resource.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::fact;
use prost::Message;

use super::dictionary::Dictionary;
use super::wire::KeyValue;
use crate::protobuf::{Part, Parts};

/// Attributes of a resource that are looked at.
const MOST: usize = 256;

/// What attributes of a resource say, by OpenTelemetry's semantic conventions.
#[derive(Clone, Debug, Default)]
pub(super) struct Resource {
    pub(super) pid: Option<i64>,
    pub(super) names: BTreeMap<&'static str, String>,
}

/// The attributes that are kept, with the fact of a process that each is.
const KEPT: [(&str, Option<&str>); 7] = [
    (SERVICE, Some(fact::SERVICE)),
    ("service.version", Some(fact::SERVICE_VERSION)),
    ("host.name", Some(fact::HOST)),
    ("container.id", Some(fact::CONTAINER)),
    ("process.runtime.version", Some(fact::JVM_VERSION)),
    (TITLE, None),
    (EXECUTABLE, None),
];

const SERVICE: &str = "service.name";
const TITLE: &str = "process.title";
const EXECUTABLE: &str = "process.executable.name";

impl Resource {
    pub(super) fn of(dictionary: &Dictionary<'_>, message: &[u8]) -> Self {
        let mut resource = Self::default();
        for part in Parts::of(message).take(MOST) {
            let Part::Bytes(1, attribute) = part else { continue };
            let Ok(attribute) = KeyValue::decode(attribute) else { continue };
            let Some(value) = &attribute.value else { continue };
            let key = match attribute.key.as_str() {
                "" => dictionary.text(attribute.key_index),
                key => key.into(),
            };
            if key == "process.pid" {
                resource.pid = Some(value.number).filter(|pid| *pid > 0);
            } else if let Some((known, _)) = KEPT.iter().find(|(known, _)| **known == *key) {
                let text = dictionary.value_text(value);
                if !text.is_empty() {
                    resource.names.insert(known, text);
                }
            }
        }
        resource
    }

    /// The name of a process of it, where a sample names its program itself.
    pub(super) fn name(&self, executable: Option<&str>) -> Option<String> {
        let own = |key: &str| self.names.get(key).cloned();
        own(TITLE)
            .or_else(|| executable.map(str::to_owned))
            .or_else(|| own(SERVICE))
            .or_else(|| own(EXECUTABLE))
    }

    /// As facts of a process.
    pub(super) fn facts(&self) -> BTreeMap<String, String> {
        let known = KEPT.iter().filter_map(|(key, fact)| Some(((*fact)?, self.names.get(key)?)));
        known.map(|(fact, value)| (fact.to_owned(), value.clone())).collect()
    }
}
