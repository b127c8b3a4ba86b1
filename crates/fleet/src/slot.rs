//! Where rows lie: `PLACE/day=2026-11-24/service=shop/host=web-1/ID-TABLE.parquet`, Hive's layout,
//! which engines prune by.

use std::hash::Hasher;
use std::path::{Path, PathBuf};

use fathom_recording::{Identity, Recording};

use crate::FleetError;
use crate::tables::MINUTE_NS;

/// Longest recording that is taken, minutes: a month. Timestamps decades apart are of a damaged
/// file.
const MOST_MINUTES: i64 = 31 * 24 * 60;
/// What Hive calls a partition of what is not known.
const UNKNOWN: &str = "__HIVE_DEFAULT_PARTITION__";

/// Where the rows of a recording lie in a place.
pub(crate) struct Slot {
    pub id: String,
    pub day: String,
    pub covers_ns: (i64, i64),
    /// Below the place.
    pub dir: PathBuf,
}

impl Slot {
    pub fn of(recording: &Recording) -> Result<Self, FleetError> {
        let unfit = |why: &str| FleetError::Unfit(why.to_owned());
        let covers_ns = recording.covers_ns().ok_or_else(|| unfit("nothing in it has a time"))?;
        if !recording.sources.iter().any(|source| source.placement.wall) {
            return Err(unfit("it is not in wall-clock time, so that it has no day; see --align"));
        }
        if covers_ns.1.saturating_sub(covers_ns.0) / MINUTE_NS > MOST_MINUTES {
            return Err(unfit("its first and last times are more than a month apart"));
        }
        let day = jiff::Timestamp::from_nanosecond(i128::from(covers_ns.0))
            .map_err(|_| unfit("its start is not a time"))?
            .strftime("%Y-%m-%d")
            .to_string();
        let id = recording.identity.recording.clone().unwrap_or_else(|| content_id(recording));
        let dir = partition(&day, &recording.identity);
        Ok(Self { id, day, covers_ns, dir })
    }

    /// Name of the file of a table.
    pub fn name(&self, table: &str) -> String {
        format!("{}-{table}.parquet", self.id)
    }
}

/// The directory of a recording's rows, below the place: `day` is that of its start, in UTC.
pub fn partition(day: &str, identity: &Identity) -> PathBuf {
    Path::new(&format!("day={day}"))
        .join(part("service", identity.service.as_deref()))
        .join(part("host", identity.host.as_deref()))
}

/// The name of one directory of these.
pub(crate) fn part(name: &str, value: Option<&str>) -> String {
    format!("{name}={}", value.map_or(UNKNOWN.into(), encoded))
}

/// What a recording that has no id is known by: checksums of its rows. It is not written anywhere
/// but into names of rows.
fn content_id(recording: &Recording) -> String {
    let mut sums = [(); 4].map(|()| crc32fast::Hasher::new());
    for s in recording.samples.iter() {
        sums[0].write_i64(s.t_ns);
        sums[0].write_i64(s.weight);
    }
    let spans = recording.kinds().into_iter();
    let spans = spans.flat_map(|(kind, _)| recording.spans_of(kind).map(|span| (span.t0_ns(), span.t1_ns())));
    let counts = recording.count_kinds().into_iter().flat_map(|(kind, _)| recording.counts_of(kind));
    for (t0, t1) in spans.chain(counts.map(|count| (count.t0_ns(), count.t1_ns()))) {
        sums[1].write_i64(t0);
        sums[1].write_i64(t1);
    }
    for series in &recording.series {
        sums[2].write(series.info.name.as_bytes());
        series.t_ns.iter().zip(&series.value).for_each(|(t, value)| {
            sums[2].write_i64(*t);
            sums[2].write_u64(value.to_bits());
        });
    }
    for process in &recording.processes {
        sums[3].write(process.name.as_bytes());
        sums[3].write_i64(process.pid.unwrap_or(-1));
    }
    sums.into_iter().map(|sum| format!("{:08x}", sum.finalize())).collect()
}

/// A value as the name of a directory: what is not a letter, a digit or one of `-_.` is `%XX`, as
/// Hive does it. A name that would be a path's own (`.`, `..`) is encoded too.
fn encoded(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let mut out = String::with_capacity(value.len());
    for (i, byte) in value.bytes().enumerate() {
        if plain(byte) || (byte == b'.' && i > 0) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    // A file system allows 255 bytes of a name; what is longer is cut, as the columns have the
    // whole of it.
    out.truncate(200);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_leads_out_of_its_directory() {
        assert_eq!(encoded("../../etc"), "%2E.%2F..%2Fetc");
        assert_eq!(encoded(".."), "%2E.");
        assert_eq!(encoded("shop-2.3"), "shop-2.3");
        assert_eq!(encoded("a=b c"), "a%3Db%20c");
        assert!(encoded(&"é".repeat(999)).len() <= 200);
    }
}
