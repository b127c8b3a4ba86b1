//! Rows of a fleet's place, read as any program would read them.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// A row of `recordings`.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    pub id: String,
    pub service: String,
    pub version: String,
    pub host: String,
    pub labels: String,
    pub jvm_version: String,
    pub start_ns: i64,
    pub end_ns: i64,
    pub cpu_ns: i64,
    /// The same as its `frames` have it.
    pub frames_cpu_ns: i64,
}

/// All files below a directory.
pub fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&entry.path())),
            _ => found.push(entry.path()),
        }
    }
    found.sort();
    found
}

/// The batches of a file; none where it went away meanwhile.
fn batches(path: &Path) -> Vec<RecordBatch> {
    let Ok(file) = File::open(path) else { return Vec::new() };
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    reader.map(Result::unwrap).collect()
}

fn text(batch: &RecordBatch, column: &str, row: usize) -> String {
    let array = batch.column_by_name(column).unwrap().as_string::<i32>();
    if array.is_null(row) { String::new() } else { array.value(row).to_owned() }
}

fn int(batch: &RecordBatch, column: &str, row: usize) -> i64 {
    batch.column_by_name(column).unwrap().as_primitive::<Int64Type>().value(row)
}

fn of_table(place: &Path, table: &str) -> Vec<PathBuf> {
    let end = format!("-{table}.parquet");
    files(place).into_iter().filter(|file| file.to_string_lossy().ends_with(&end)).collect()
}

/// Rows of all recordings below a directory.
pub fn recorded(place: &Path) -> Vec<Recorded> {
    let mut all = Vec::new();
    for path in of_table(place, "recordings") {
        for batch in batches(&path) {
            for row in 0..batch.num_rows() {
                let text = |column| text(&batch, column, row);
                let int = |column| int(&batch, column, row);
                let frames = path.to_string_lossy().replace("-recordings.parquet", "-frames.parquet");
                all.push(Recorded {
                    id: text("recording"),
                    service: text("service"),
                    version: text("version"),
                    host: text("host"),
                    labels: text("labels"),
                    jvm_version: text("jvm_version"),
                    start_ns: int("start_ns"),
                    end_ns: int("end_ns"),
                    cpu_ns: int("cpu_ns"),
                    frames_cpu_ns: cpu_ns(Path::new(&frames)),
                });
            }
        }
    }
    all
}

fn cpu_ns(frames: &Path) -> i64 {
    let mut sum = 0;
    for batch in batches(frames) {
        let of_cpu = (0..batch.num_rows()).filter(|row| text(&batch, "kind", *row) == "cpu");
        sum += of_cpu.map(|row| int(&batch, "self_weight", row)).sum::<i64>();
    }
    sum
}

/// What could not be seen, and why.
pub fn unseen(place: &Path) -> Vec<(String, String)> {
    let all = of_table(place, "unseen").into_iter().flat_map(|path| batches(&path));
    let rows = |batch: RecordBatch| {
        (0..batch.num_rows())
            .map(|row| (text(&batch, "what", row), text(&batch, "why", row)))
            .collect::<Vec<_>>()
    };
    all.flat_map(rows).collect()
}
