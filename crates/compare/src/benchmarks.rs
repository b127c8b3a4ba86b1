//! Two files of JMH compared with each other, benchmark by benchmark.

use std::path::Path;

use crate::CompareError;
use crate::interval::unpaired;
use crate::jmh::{Benchmark, read};
use crate::judge::{ALPHA, Report, Row};
use crate::metric::Measurement;
use crate::sentence::{Compared, Words};

/// Compares two files; forks are the unit, as they were not run alternately. The chance of error is
/// divided among the benchmarks.
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
        report.commands.extend(of.map(|(label, benchmark, path)| row(benchmark, label, path)));
        let measurement = Measurement::of(a);
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

/// What JMH measured of a benchmark, fork by fork.
fn row(benchmark: &Benchmark, label: &str, path: &Path) -> Row {
    let means: Vec<f64> =
        benchmark.forks.iter().filter_map(|fork| fathom_diagnose::stats::mean(fork)).collect();
    Row::of(label, &path.display().to_string(), &Measurement::of(benchmark), &means)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
