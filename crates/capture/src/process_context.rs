//! What a program publishes of itself for readers outside: OpenTelemetry's process context.
//!
//! An SDK keeps a header in a mapping that is called `OTEL_CTX`, and next to it or elsewhere a
//! message with the attributes of its resource. Only reading is needed. Source:
//! opentelemetry-specification, `oteps/profiles/4719-process-ctx.md` (August 2026), and
//! `processcontext/v1development/process_context.proto` of opentelemetry-proto 1.11.0.
//!
//! ```text
//! 0  "OTEL_CTX"   8  version   12  bytes of the message   16  when it was published   24  its address
//! ```
//!
//! The program may write meanwhile: the time of the publication is 0 while it does, and another one
//! afterwards, so that it is read again behind the message.

use fathom_hotspot::maps;
use fathom_hotspot::memory::{Memory, ProcessMemory};
use fathom_recording::identity::plain;
use prost::Message;

const SIGNATURE: &[u8; 8] = b"OTEL_CTX";
/// The version of the header; 1 was for experiments.
const VERSION: u32 = 2;
/// What the mapping is called, whichever way it was made.
const NAMES: [&str; 3] = ["[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]", "/memfd:OTEL_CTX"];
/// Bytes of a message that are read: it has some tens of attributes.
const LARGEST: u32 = 256 << 10;
/// How often it is read again when the program writes.
const ATTEMPTS: usize = 5;
/// Mappings of such a name that are looked at; there must be one.
const MOST_MAPPINGS: usize = 4;

/// What a program says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessContext {
    /// `service.name`, where it is not the SDK's own word for none.
    pub service: Option<String>,
    /// `service.version`.
    pub version: Option<String>,
    /// `container.id`.
    pub container: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Published {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
}

#[derive(Clone, PartialEq, Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(string, tag = "1")]
    text: String,
}

/// What a process publishes; `None` where it publishes nothing, or may not be read.
pub fn of(pid: i32) -> Option<ProcessContext> {
    let pid = u32::try_from(pid).ok()?;
    let mappings = maps::read(pid).ok()?;
    let named = mappings.iter().filter(|m| m.readable && NAMES.iter().any(|name| m.path.starts_with(name)));
    named.take(MOST_MAPPINGS).find_map(|mapping| {
        let memory = ProcessMemory::open(pid, mapping.start).ok()?;
        (0..ATTEMPTS).find_map(|_| message(&memory, mapping.start)).map(|bytes| context(&bytes))
    })
}

/// The message behind a header; `None` where there is none, or it was written meanwhile.
fn message(memory: &impl Memory, header: u64) -> Option<Vec<u8>> {
    let signature: [u8; 8] = memory.read_array(header).ok()?;
    if &signature != SIGNATURE || memory.read_u32(header + 8).ok()? != VERSION {
        return None;
    }
    let published = || memory.read_u64(header + 16).ok().filter(|ns| *ns > 0);
    let before = published()?;
    let length = memory.read_u32(header + 12).ok().filter(|length| *length <= LARGEST)?;
    let mut bytes = vec![0; length as usize];
    memory.read(memory.read_u64(header + 24).ok()?, &mut bytes).ok()?;
    (published()? == before).then_some(bytes)
}

fn context(bytes: &[u8]) -> ProcessContext {
    let published = Published::decode(bytes).unwrap_or_default();
    let attributes = published.resource.unwrap_or_default().attributes;
    let text = |key: &str| {
        let value = attributes.iter().find(|attribute| attribute.key == key)?.value.as_ref()?;
        Some(plain(value.text.trim())).filter(|text| !text.is_empty())
    };
    ProcessContext {
        service: text("service.name").filter(|name| !name.starts_with("unknown_service")),
        version: text("service.version"),
        container: text("container.id"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(key: &str, text: &str) -> KeyValue {
        KeyValue { key: key.into(), value: Some(AnyValue { text: text.into() }) }
    }

    fn published(service: &str) -> Vec<u8> {
        let attributes = vec![attribute("service.name", service), attribute("service.version", "2.3.1")];
        Published { resource: Some(Resource { attributes }) }.encode_to_vec()
    }

    /// A header at the beginning of some bytes.
    fn header(published_ns: u64, length: u32, address: u64) -> Vec<u8> {
        let parts = [SIGNATURE.to_vec(), VERSION.to_le_bytes().to_vec(), length.to_le_bytes().to_vec()];
        [parts.concat(), published_ns.to_le_bytes().to_vec(), address.to_le_bytes().to_vec()].concat()
    }

    #[test]
    fn what_a_program_publishes_is_read_from_its_memory() {
        let payload = published("shop");
        let memfd = rustix::fs::memfd_create("OTEL_CTX", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let file = std::fs::File::from(memfd);
        file.set_len(4096).unwrap();
        let pid = std::process::id() as i32;
        assert_eq!(of(pid), None);
        // SAFETY: the mapping is private, and nobody else has the file.
        let mut mapping = unsafe { memmap2::MmapOptions::new().map_copy(&file) }.unwrap();
        drop(file);
        let whole = header(7, payload.len() as u32, payload.as_ptr().addr() as u64);
        mapping[..whole.len()].copy_from_slice(&whole);
        let context = of(pid).unwrap();
        assert_eq!((context.service.as_deref(), context.version.as_deref()), (Some("shop"), Some("2.3.1")));
        // While it is being written there is nothing to read.
        mapping[16..24].fill(0);
        assert_eq!(of(pid), None);
    }

    #[test]
    fn an_sdks_word_for_no_name_is_none() {
        assert_eq!(context(&published("unknown_service:java")).service, None);
        assert_eq!(context(b"\xff\xff\xff"), ProcessContext::default());
    }
}
