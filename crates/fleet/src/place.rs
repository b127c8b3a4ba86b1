//! Where rows lie: `PLACE/day=2026-11-24/service=shop/host=web-1/ID-TABLE.parquet`, Hive's layout, which engines prune by.
//!
//! Files are never changed. Each is written beside its place and moved there; `ID-recordings.parquet` is the last one, so
//! that where it is, the others are. Adding a recording again finds it and changes nothing; after a writer that was killed
//! the missing files are written, with the same names.

use std::fs::{DirBuilder, OpenOptions};
use std::hash::Hasher;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use fathom_diagnose::diagnose;
use fathom_recording::Recording;

use crate::FleetError;
use crate::tables::{Input, MINUTE_NS, TABLES, common};

/// Longest recording that is taken, minutes: a month. Stamps decades apart are of a damaged file.
const MOST_MINUTES: i64 = 31 * 24 * 60;
/// The file that every recording has.
const META: &str = "meta.json";
/// What Hive calls a partition of what is not known.
const UNKNOWN: &str = "__HIVE_DEFAULT_PARTITION__";

/// What became of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Added {
    /// Its rows were written.
    Written {
        /// Into this directory.
        place: PathBuf,
        /// How many rows.
        rows: usize,
        /// How many bytes.
        bytes: u64,
    },
    /// They were there already.
    There {
        /// In this directory.
        place: PathBuf,
    },
}

/// Adds the rows of a sealed recording to a place, which is made where it is missing.
pub fn add(recording: &Recording, place: &Path) -> Result<Added, FleetError> {
    let unfit = |why: &str| FleetError::Unfit(why.to_owned());
    if place.join(META).is_file() {
        return Err(unfit(&format!(
            "{} is a recording; rows need a directory of their own",
            place.display()
        )));
    }
    let covers_ns = recording.covers_ns().ok_or_else(|| unfit("nothing in it has a time"))?;
    if !recording.sources.iter().any(|source| source.placement.wall) {
        return Err(unfit("it is not in wall-clock time, so that it has no day; see --align"));
    }
    if covers_ns.1.saturating_sub(covers_ns.0) / MINUTE_NS > MOST_MINUTES {
        return Err(unfit("its first and last times are more than a month apart"));
    }
    let day = jiff::Timestamp::from_nanosecond(i128::from(covers_ns.0))
        .map_err(|_| unfit("its start is no time"))?
        .strftime("%Y-%m-%d")
        .to_string();
    let identity = &recording.identity;
    let id = identity.recording.clone().unwrap_or_else(|| content_id(recording));
    let part = |name: &str, value: Option<&str>| format!("{name}={}", value.map_or(UNKNOWN.into(), encoded));
    let dir = place
        .join(format!("day={day}"))
        .join(part("service", identity.service.as_deref()))
        .join(part("host", identity.host.as_deref()));
    let file = |table: &str| dir.join(format!("{id}-{table}.parquet"));
    if file("recordings").is_file() {
        return Ok(Added::There { place: dir });
    }
    DirBuilder::new().recursive(true).mode(0o700).create(&dir).map_err(FleetError::io(&dir))?;
    let diagnosis = diagnose(recording, &fathom_diagnose::Options::default())
        .map_err(|error| FleetError::Unfit(error.to_string()))?;
    let input = Input { recording, diagnosis: &diagnosis, covers_ns };
    let common = common(recording, &id, covers_ns.0, &day);
    let (mut rows, mut bytes) = (0, 0);
    for table in &TABLES {
        let made = (table.rows)(&input);
        let to = file(made.name);
        let aside = dir.join(format!(".{id}-{}.{}.tmp", made.name, std::process::id()));
        let written = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside);
        let written = written
            .and_then(|out| made.write(&common, table.types, out))
            .and_then(|out| out.sync_all().and_then(|()| out.metadata()));
        let info = written.inspect_err(|_| _ = std::fs::remove_file(&aside)).map_err(FleetError::io(&to))?;
        std::fs::rename(&aside, &to).map_err(FleetError::io(&to))?;
        (rows, bytes) = (rows + made.len(), bytes + info.len());
    }
    Ok(Added::Written { place: dir, rows, bytes })
}

/// Refuses a place to which no recording was added.
pub(crate) fn has_rows(place: &Path) -> Result<(), FleetError> {
    let entries = std::fs::read_dir(place).map_err(FleetError::io(place))?;
    match entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("day=")) {
        true => Ok(()),
        false => Err(FleetError::Unfit(format!(
            "no recording was added to {place}: fathom fleet add RECORDING --to {place}",
            place = place.display()
        ))),
    }
}

/// What a recording that has no id is known by: checksums of its rows. It is not written anywhere but into names of rows.
fn content_id(recording: &Recording) -> String {
    let mut sums = [(); 4].map(|()| crc32fast::Hasher::new());
    for s in recording.samples.iter() {
        sums[0].write_i64(s.t_ns);
        sums[0].write_i64(s.weight);
    }
    for (t0, t1) in recording
        .kinds()
        .iter()
        .flat_map(|(kind, _)| recording.spans_of(kind).map(|span| (span.t0_ns(), span.t1_ns())))
    {
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

/// A value as the name of a directory: what is not a letter, a digit or one of `-_.` is `%XX`, as Hive does it. A name that
/// would be a path's own (`.`, `..`) is encoded too.
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
    // A file system allows 255 bytes of a name; what is longer is cut, as the columns have the whole of it.
    out.truncate(200);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_without_rows_and_one_that_is_a_recording_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let said = has_rows(dir.path()).unwrap_err().to_string();
        assert!(said.contains("fathom fleet add"), "{said}");
        std::fs::create_dir(dir.path().join("day=2026-11-24")).unwrap();
        assert!(has_rows(dir.path()).is_ok());
        std::fs::write(dir.path().join(META), "{}").unwrap();
        let mut recording = Recording::new();
        recording.seal();
        let said = add(&recording, dir.path()).unwrap_err().to_string();
        assert!(said.contains("is a recording"), "{said}");
    }

    #[test]
    fn no_value_leads_out_of_its_directory() {
        assert_eq!(encoded("../../etc"), "%2E.%2F..%2Fetc");
        assert_eq!(encoded(".."), "%2E.");
        assert_eq!(encoded("shop-2.3"), "shop-2.3");
        assert_eq!(encoded("a=b c"), "a%3Db%20c");
        assert!(encoded(&"é".repeat(999)).len() <= 200);
    }
}
