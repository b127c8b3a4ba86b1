//! Results of JMH as it writes them with `-rf json`
//! (org.openjdk.jmh.results.format.JSONResultFormat, 1.37).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;

use crate::CompareError;

/// A larger file is not read, bytes: some hundred benchmarks with all iterations are a few
/// megabytes.
const LARGEST: u64 = 256 << 20;

/// What JMH measured of one benchmark with one set of parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Benchmark {
    /// "org.example.Sort.quick size=1000".
    pub name: String,
    /// "ns/op".
    pub unit: String,
    /// Whether it counts operations per time, so that more is better.
    pub higher_is_better: bool,
    /// Scores of the measured iterations, fork by fork.
    pub forks: Vec<Vec<f64>>,
    /// Version of the JDK, where the file has it.
    pub jdk: Option<String>,
    /// Arguments of the JVM.
    pub jvm_args: Vec<String>,
    /// Threads that ran it.
    pub threads: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    benchmark: String,
    mode: String,
    threads: Option<u64>,
    #[serde(default)]
    params: BTreeMap<String, String>,
    jdk_version: Option<String>,
    #[serde(default)]
    jvm_args: Vec<String>,
    primary_metric: Primary,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Primary {
    score: serde_json::Value,
    score_unit: String,
    #[serde(default)]
    raw_data: Vec<Vec<f64>>,
}

/// Whether the head of a file looks like one: an array of objects that name a benchmark.
pub fn is_one(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    text.trim_start().starts_with('[') && text.contains("\"benchmark\"") && text.contains("\"jmhVersion\"")
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Vec<Benchmark>, CompareError> {
    let file = File::open(path).map_err(|e| CompareError::io(path, e))?;
    let mut text = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut text).map_err(|e| CompareError::io(path, e))?;
    if text.len() as u64 > LARGEST {
        return Err(CompareError::content(path, "larger than 256 MB"));
    }
    let entries: Vec<Entry> = serde_json::from_slice(&text)
        .map_err(|e| CompareError::content(path, format!("not a JMH result: {e}")))?;
    let benchmarks: Vec<Benchmark> = entries.into_iter().map(benchmark).collect();
    match benchmarks.is_empty() {
        true => Err(CompareError::content(path, "no benchmark in it")),
        false => Ok(benchmarks),
    }
}

fn benchmark(entry: Entry) -> Benchmark {
    let mut name = entry.benchmark;
    entry.params.iter().for_each(|(key, value)| name.push_str(&format!(" {key}={value}")));
    // What was sampled has a histogram in place of its iterations: one value, of which nothing can
    // be said but its size.
    let mut forks = entry.primary_metric.raw_data;
    forks.retain(|fork| !fork.is_empty());
    if forks.is_empty() {
        forks.extend(entry.primary_metric.score.as_f64().map(|score| vec![score]));
    }
    Benchmark {
        higher_is_better: entry.mode == "thrpt",
        name: format!("{name} [{}]", entry.mode),
        unit: entry.primary_metric.score_unit,
        forks,
        jdk: entry.jdk_version,
        jvm_args: entry.jvm_args,
        threads: entry.threads,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"[{"jmhVersion":"1.37","benchmark":"org.example.Sort.quick","mode":"avgt","threads":1,"forks":2,
        "jdkVersion":"17.0.15","jvmArgs":["-Xmx1g"],"params":{"size":"1000"},"primaryMetric":{"score":2.5,"scoreError":
        "NaN","scoreUnit":"ns/op","rawData":[[2.0,3.0],[2.5,2.5]]},"secondaryMetrics":{}}]"#;

    #[test]
    fn a_benchmark_has_its_forks_and_its_parameters() {
        assert!(is_one(TEXT.as_bytes()) && !is_one(b"[{\"benchmark\":1}]") && !is_one(b"{}"));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), TEXT).unwrap();
        let read = read(file.path()).unwrap();
        assert_eq!(read[0].name, "org.example.Sort.quick size=1000 [avgt]");
        assert_eq!(read[0].forks, [[2.0, 3.0], [2.5, 2.5]]);
        assert_eq!((read[0].unit.as_str(), read[0].higher_is_better), ("ns/op", false));
        assert_eq!(
            (read[0].jdk.as_deref(), read[0].jvm_args.as_slice()),
            (Some("17.0.15"), &["-Xmx1g".into()][..])
        );
    }

    #[test]
    fn damage_is_an_error_that_names_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for end in (0..TEXT.len()).step_by(7) {
            std::fs::write(file.path(), &TEXT[..end]).unwrap();
            let error = read(file.path()).unwrap_err().to_string();
            assert!(error.contains("not a JMH result"), "{error}");
        }
        std::fs::write(file.path(), "[]").unwrap();
        assert!(read(file.path()).unwrap_err().to_string().ends_with("no benchmark in it"));
    }
}
