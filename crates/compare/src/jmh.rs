//! Results of JMH as it writes them with `-rf json`
//! (org.openjdk.jmh.results.format.JSONResultFormat, 1.37).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;

use crate::CompareError;
use crate::interval::unpaired;
use crate::judge::{ALPHA, Report, Row};
use crate::metric::Measurement;
use crate::sentence::{Compared, Words};

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

/// Compares two files, benchmark by benchmark; forks are the unit, as they were not run
/// alternately. The chance of error is divided among the benchmarks.
pub fn compare(paths: [&Path; 2], margin: f64) -> Result<Report, CompareError> {
    let [first, second] = [read(paths[0])?, read(paths[1])?];
    let pairs: Vec<(&Benchmark, &Benchmark)> =
        first.iter().filter_map(|a| Some((a, second.iter().find(|b| b.name == a.name)?))).collect();
    if pairs.is_empty() {
        return Err(CompareError::content(paths[1], "it has no benchmark in common with the first file"));
    }
    let alpha = ALPHA / pairs.len() as f64;
    let mut report = Report::empty("JMH results", margin);
    for (a, b) in &pairs {
        let of = [("A", *a, paths[0]), ("B", *b, paths[1])];
        report.commands.extend(of.map(|(label, benchmark, path)| benchmark.row(label, path)));
        let measurement = a.measurement();
        let runs = a.forks.len().min(b.forks.len());
        let same = a.unit == b.unit;
        let estimate = if same { unpaired(&a.forks, &b.forks, alpha) } else { None };
        let names = ["A".to_owned(), "B".to_owned()];
        let compared =
            Compared { names, runs, measurement: &measurement, words: Words::of_unit(&measurement) };
        report.comparisons.push(compared.judged_forks(estimate, margin, alpha));
        report.runs = report.runs.max(runs);
    }
    let alone = |mine: &[Benchmark], other: &[Benchmark]| {
        mine.iter()
            .filter(|b| other.iter().all(|o| o.name != b.name))
            .map(|b| b.name.clone())
            .collect::<Vec<_>>()
    };
    report.not_compared = [alone(&first, &second), alone(&second, &first)].concat();
    report.differing = differing(pairs[0]);
    Ok(report)
}

/// What makes two results hard to compare.
fn differing((a, b): (&Benchmark, &Benchmark)) -> Vec<String> {
    let mut found = Vec::new();
    if a.jdk != b.jdk {
        let shown = |jdk: &Option<String>| jdk.clone().unwrap_or_else(|| "unknown".to_owned());
        found.push(format!("JDK {} and {}", shown(&a.jdk), shown(&b.jdk)));
    }
    if a.jvm_args != b.jvm_args {
        let shown = |args: &[String]| if args.is_empty() { "none".to_owned() } else { args.join(" ") };
        found.push(format!("arguments of the JVM: {} and {}", shown(&a.jvm_args), shown(&b.jvm_args)));
    }
    if a.threads != b.threads {
        found.push(format!("threads: {:?} and {:?}", a.threads.unwrap_or(1), b.threads.unwrap_or(1)));
    }
    found
}

impl Benchmark {
    fn measurement(&self) -> Measurement {
        Measurement {
            name: self.name.clone(),
            unit: self.unit.clone(),
            higher_is_better: self.higher_is_better,
            values: Vec::new(),
        }
    }

    fn row(&self, label: &str, path: &Path) -> Row {
        let means: Vec<f64> =
            self.forks.iter().filter_map(|fork| fathom_diagnose::stats::mean(fork)).collect();
        Row::of(label, &path.display().to_string(), &self.measurement(), &means)
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

    /// A file with a benchmark of five forks around a time.
    fn file(of: &[(&str, f64)], jdk: &str) -> tempfile::NamedTempFile {
        let entry = |(name, time): &(&str, f64)| {
            let forks: Vec<String> =
                (0..5).map(|i| format!("[{},{}]", time + f64::from(i) / 100.0, time)).collect();
            format!(
                r#"{{"jmhVersion":"1.37","benchmark":"{name}","mode":"avgt","jdkVersion":"{jdk}","primaryMetric":
                {{"score":{time},"scoreUnit":"ns/op","rawData":[{}]}}}}"#,
                forks.join(",")
            )
        };
        let entries: Vec<String> = of.iter().map(entry).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("[{}]", entries.join(","))).unwrap();
        file
    }

    #[test]
    fn two_files_are_compared_benchmark_by_benchmark() {
        let a = file(&[("x", 2.0), ("y", 2.0), ("gone", 1.0)], "17");
        let b = file(&[("y", 2.4), ("x", 2.0), ("new", 1.0)], "25");
        let report = compare([a.path(), b.path()], 0.02).unwrap();
        let verdicts: Vec<_> =
            report.comparisons.iter().map(|c| (c.figure.as_str(), c.verdict.word())).collect();
        assert_eq!(verdicts, [("x [avgt]", "no_difference"), ("y [avgt]", "slower")]);
        assert!(report.comparisons[1].sentence.starts_with("y [avgt]: B takes 1."), "{report:?}");
        assert!(report.comparisons[1].sentence.contains("5 forks each"), "{report:?}");
        assert_eq!(report.not_compared, ["gone [avgt]", "new [avgt]"]);
        assert_eq!(report.differing, ["JDK 17 and 25"]);
        let error = compare([a.path(), file(&[("z", 1.0)], "17").path()], 0.01).unwrap_err();
        assert!(error.to_string().contains("no benchmark in common with the first file"));
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
