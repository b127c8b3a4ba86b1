//! Files and sockets as the program uses them.

use fathom_recording::vocabulary::{figure, kind, label};

use super::{Event, Kind, Reader, known};

pub(super) const KINDS: &[Kind] = &[
    Kind { name: "jdk.FileRead", fields: &["path", "bytesRead"], read: file },
    Kind { name: "jdk.FileWrite", fields: &["path", "bytesWritten"], read: file },
    Kind { name: "jdk.FileForce", fields: &["path"], read: file },
    Kind { name: "jdk.SocketRead", fields: &["host", "address", "port", "bytesRead"], read: socket },
    Kind { name: "jdk.SocketWrite", fields: &["host", "address", "port", "bytesWritten"], read: socket },
    Kind { name: "jdk.SocketConnect", fields: &["host", "address", "port"], read: connect },
    Kind {
        name: "jdk.TLSHandshake",
        fields: &["peerHost", "peerPort", "protocolVersion", "certificateId"],
        read: handshake,
    },
];

/// The operation, from the last word of the event's name.
fn verb(event: &Event<'_, '_>) -> &'static str {
    match event.name.rsplit(|c: char| c.is_uppercase()).next() {
        Some("ead") => "read",
        Some("orce") => "force",
        _ => "write",
    }
}

fn file<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let path = reader.text(event.field(0)).unwrap_or_default();
    let figures = known([(figure::BYTES, event.number(1))]);
    let labels = [(label::PATH, &*path)];
    let labels = if path.is_empty() { &[][..] } else { &labels[..] };
    reader.span(event, kind::IO_FILE, verb(event), &figures, labels)
}

/// "host:port", or the address where there is no name.
fn peer<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> String {
    let host = reader.text(event.field(0)).filter(|host| !host.is_empty());
    let host = host.or_else(|| reader.text(event.field(1))).unwrap_or_default();
    format!("{}:{}", &*host, event.integer(2).unwrap_or(0))
}

fn socket<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let peer = peer(reader, event);
    let figures = known([(figure::BYTES, event.number(3))]);
    reader.span(event, kind::IO_SOCKET, verb(event), &figures, &[(label::PEER, &peer)])
}

fn connect<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let peer = peer(reader, event);
    reader.span(event, kind::NET_CONNECT, "connect", &[], &[(label::PEER, &peer)])
}

/// An event at the end of the handshake: its duration is not recorded.
///
/// Up to TLS 1.2 the JDK writes one only where the last message of a handshake comes in: on the
/// client where it is made in full, on the server where it resumes a session
/// (`Finished.T12FinishedConsumer` of sun.security.ssl, JDK 11 to 25). A client has the server's
/// certificate; a server has none but where it asks for its clients'. Of TLS 1.3 both ends write
/// each, and nothing of it shows which it was.
fn handshake<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let host = reader.text(event.field(0)).unwrap_or_default();
    let peer = format!("{}:{}", &*host, event.integer(1).unwrap_or(0));
    let protocol = reader.text(event.field(2)).unwrap_or_default();
    let name = if protocol.is_empty() { "handshake" } else { &protocol };
    let older = BEFORE_1_3.contains(&name);
    let resumed = event.number(3).filter(|_| older).map(|id| f64::from(u8::from(id == 0.0)));
    let figures = known([(figure::RESUMED, resumed)]);
    reader.span(event, kind::NET_TLS, name, &figures, &[(label::PEER, &peer)])
}

/// Protocols of which the JDK writes handshakes at one end only.
const BEFORE_1_3: [&str; 3] = ["TLSv1.2", "TLSv1.1", "TLSv1"];
