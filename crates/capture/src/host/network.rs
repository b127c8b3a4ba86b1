//! Network: `/proc/net/{dev,snmp,netstat}` of fathom's own network namespace (net/ipv4/proc.c).

use std::collections::BTreeMap;

use fathom_recording::vocabulary::live;

use super::{HostSource, Unavailable};
use crate::growing_series::{Counter, Gauge, Points};
use crate::procfs::Repeated;

/// Interfaces that have series, at most: a machine with many containers has hundreds of virtual
/// ones.
const MAX_INTERFACES: usize = 16;

/// The source.
#[derive(Default)]
pub struct Network {
    dev: Option<Repeated>,
    snmp: Option<Repeated>,
    netstat: Option<Repeated>,
    interfaces: BTreeMap<String, Interface>,
    tcp: Option<Tcp>,
}

struct Interface {
    received: Counter,
    sent: Counter,
    dropped: Counter,
}

struct Tcp {
    segments: Counter,
    retransmits: Counter,
    listen_drops: Counter,
}

impl Tcp {
    fn new() -> Self {
        let counter = |word| Counter::new(Gauge::new(word, ""), 1.0);
        Self {
            segments: counter(live::TCP_SEGMENTS),
            retransmits: counter(live::TCP_RETRANSMITS),
            listen_drops: counter(live::TCP_LISTEN_DROPS),
        }
    }
}

impl HostSource for Network {
    fn start(&mut self) -> Result<(), Unavailable> {
        self.dev = Repeated::open("/proc/net/dev");
        self.snmp = Repeated::open("/proc/net/snmp");
        self.netstat = Repeated::open("/proc/net/netstat");
        self.tcp = Some(Tcp::new());
        self.dev.is_some().then_some(()).ok_or_else(|| Unavailable {
            scope: None,
            what: "network interfaces of the machine".into(),
            why: "/proc/net/dev cannot be read".into(),
            remedy: "mount /proc where fathom runs".into(),
        })
    }

    fn read(&mut self, points: &mut Points<'_, '_>) {
        let text = self.dev.as_mut().and_then(Repeated::read).unwrap_or_default();
        for line in text.lines().skip(2) {
            let Some((name, numbers)) = line.split_once(':') else { continue };
            // Received: bytes packets errs drop fifo frame compressed multicast; sent: bytes
            // packets errs drop …
            let mut n = [0_u64; 12];
            n.iter_mut().zip(numbers.split_ascii_whitespace()).for_each(|(n, w)| *n = w.parse().unwrap_or(0));
            let name = name.trim();
            if n[0] + n[8] == 0 {
                continue;
            }
            if !self.interfaces.contains_key(name) && self.interfaces.len() < MAX_INTERFACES {
                let counter = |word| Counter::new(Gauge::new(word, name), 1.0);
                let interface = Interface {
                    received: counter(live::NET_RECEIVED),
                    sent: counter(live::NET_SENT),
                    dropped: counter(live::NET_DROPPED),
                };
                self.interfaces.insert(name.to_owned(), interface);
            }
            let Some(interface) = self.interfaces.get_mut(name) else { continue };
            points.counter(&mut interface.received, n[0]);
            points.counter(&mut interface.sent, n[8]);
            points.counter(&mut interface.dropped, n[2] + n[3] + n[10] + n[11]);
        }
        let Some(tcp) = &mut self.tcp else { return };
        let snmp = self.snmp.as_mut().and_then(Repeated::read).unwrap_or_default();
        table(snmp, "Tcp:", |name, value| match name {
            "OutSegs" => points.counter(&mut tcp.segments, value),
            "RetransSegs" => points.counter(&mut tcp.retransmits, value),
            _ => {}
        });
        let netstat = self.netstat.as_mut().and_then(Repeated::read).unwrap_or_default();
        table(netstat, "TcpExt:", |name, value| {
            if name == "ListenDrops" {
                points.counter(&mut tcp.listen_drops, value);
            }
        });
    }
}

/// Pairs of a line of names and a line of values, both behind a label.
fn table(text: &str, label: &str, mut take: impl FnMut(&str, u64)) {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(label));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return };
    for (name, value) in names.split_ascii_whitespace().zip(values.split_ascii_whitespace()) {
        // Some values are negative (MaxConn -1); none that is wanted is.
        value.parse().into_iter().for_each(|value| take(name, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_names_in_the_line_above() {
        let text = "Ip: A B\nIp: 1 2\nTcp: MaxConn OutSegs RetransSegs\nTcp: -1 77 3\n";
        let mut taken = Vec::new();
        table(text, "Tcp:", |name, value| taken.push((name.to_owned(), value)));
        assert_eq!(taken, [("OutSegs".to_owned(), 77), ("RetransSegs".to_owned(), 3)]);
    }
}
