//! Buckets as places and as inputs, with a server that checks signatures and rights.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

mod live;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use fathom_testing::s3::Server;
use live::{FATHOM, fathom, json, said};
use serde_json::Value;

/// A folder with a recording, and a server.
struct Bench {
    dir: tempfile::TempDir,
    server: Server,
}

impl Bench {
    fn new() -> Option<Self> {
        let (dir, server) = (tempfile::tempdir().unwrap(), Server::start()?);
        let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ingest/fixtures/unified/g1-17.log.zst");
        let import =
            ["import", log.to_str().unwrap(), "-o", "a.fathom", "--service", "web shop", "--host", "web-1"];
        let output = fathom(dir.path(), &import);
        assert!(output.status.success(), "{}", said(&output));
        Some(Self { dir, server })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(FATHOM);
        command.current_dir(self.dir.path()).args(args);
        let aws = std::env::vars().filter(|(name, _)| name.starts_with("AWS_"));
        aws.for_each(|(name, _)| _ = command.env_remove(name));
        command.envs(self.server.environment()).env("XDG_CACHE_HOME", self.path("cache"));
        command
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> Output {
        let output = self.command(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", said(&output));
        output
    }

    /// Files of the bucket by name, with what is in them.
    fn files(&mut self, into: &str) -> Vec<(PathBuf, Vec<u8>)> {
        let into = self.path(into);
        std::fs::create_dir(&into).unwrap();
        self.server.copy_to(&into);
        files(&into)
    }
}

/// Files below a directory by name, with what is in them.
fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let (mut found, mut dirs) = (Vec::new(), vec![dir.to_path_buf()]);
    while let Some(within) = dirs.pop() {
        for path in std::fs::read_dir(within).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => dirs.push(path),
                false => {
                    found
                        .push((path.strip_prefix(dir).unwrap().to_path_buf(), std::fs::read(&path).unwrap()));
                }
            }
        }
    }
    found.sort();
    found
}

#[test]
fn rows_in_a_bucket_are_those_of_a_directory_and_adding_them_again_changes_nothing() {
    let Some(mut bench) = Bench::new() else { return };
    bench.run(&["fleet", "add", "a.fathom", "--to", "place"]);
    let added = said(&bench.run(&["fleet", "add", "a.fathom", "--to", "s3://fleet/prod/a b"]));
    assert!(
        added.contains("into s3://fleet/prod/a b/day=2026-11-21/service=web%20shop/host=web-1"),
        "{added}"
    );
    assert_eq!(bench.server.versions(), 9);
    let again = said(&bench.run(&["fleet", "add", "a.fathom", "--to", "s3://fleet/prod/a b/"]));
    assert!(again.contains("there already"), "{again}");
    assert_eq!(bench.server.versions(), 9);
    let of_bucket: Vec<_> = bench
        .files("copy")
        .into_iter()
        .map(|(name, content)| (name.strip_prefix("prod/a b").unwrap().to_path_buf(), content))
        .collect();
    assert_eq!(of_bucket, files(&bench.path("place")));
}

#[test]
fn a_question_to_a_bucket_is_answered_as_one_to_a_directory_and_fetches_what_is_new() {
    let Some(mut bench) = Bench::new() else { return };
    let Some(python) = fathom_testing::duckdb::python(Path::new(env!("CARGO_TARGET_TMPDIR"))) else {
        return fathom_testing::skip("DuckDB cannot be had here (python3 with venv, and PyPI)");
    };
    bench.run(&["fleet", "add", "a.fathom", "--to", "place"]);
    bench.run(&["fleet", "add", "a.fathom", "--to", "s3://fleet/prod"]);
    let ask = |bench: &Bench, place: &str, more: &[&str]| {
        let args = [&["fleet", "pauses", "--at", place, "--json"], more].concat();
        let output = bench.command(&args).env("FATHOM_FLEET_PYTHON", &python).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", said(&output));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        (answer["rows"].as_array().unwrap().clone(), said(&output))
    };
    let (rows, _) = ask(&bench, "place", &[]);
    assert!(!rows.is_empty());
    // Nothing of that day, and then of that service: one file, for its columns.
    let (none, fetched) = ask(&bench, "s3://fleet/prod", &["--set", "since=2027-01-01"]);
    assert!(none.is_empty() && fetched.contains("fetched 1 files"), "{none:?} {fetched}");
    assert!(ask(&bench, "s3://fleet/prod", &["--set", "service=other"]).0.is_empty());
    let (of_bucket, fetched) = ask(&bench, "s3://fleet/prod", &["--set", "service=web shop"]);
    assert_eq!((of_bucket, fetched.contains("fetched")), (rows.clone(), false), "{fetched}");
    // What is put later is fetched, and what is removed is not counted any more.
    let import = ["import", "a.fathom", "-o", "b.fathom", "--service", "billing", "--host", "web-2"];
    bench.run(&import);
    bench.run(&["fleet", "add", "b.fathom", "--to", "s3://fleet/prod"]);
    let (more, fetched) = ask(&bench, "s3://fleet/prod", &[]);
    assert!(more.len() > rows.len() && fetched.contains("fetched 1 files"), "{more:?} {fetched}");
    bench.server.clear();
    bench.run(&["fleet", "add", "b.fathom", "--to", "s3://fleet/prod"]);
    let (left, _) = ask(&bench, "s3://fleet/prod", &[]);
    assert!(!left.is_empty() && left.len() < more.len(), "{left:?}");
    bench.server.clear();
    let output = bench.command(&["fleet", "pauses", "--at", "s3://fleet/prod"]).output().unwrap();
    assert!(said(&output).contains("no recording was added to s3://fleet/prod"), "{}", said(&output));
}

#[test]
fn an_incident_of_several_parts_goes_into_the_bucket_and_is_read_out_of_it() {
    let Some(mut bench) = Bench::new() else { return };
    // Numbers that no compression makes fewer.
    let mut state = 7_u64;
    let mut table = String::from("t,busy\n");
    for i in 0..700_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        table.push_str(&format!(
            "{}.{:03},{}\n",
            1_795_000_000 + i / 1000,
            i % 1000,
            (state >> 11) as f64 / 9e15
        ));
    }
    std::fs::write(bench.path("big.csv"), table).unwrap();
    std::fs::create_dir_all(bench.path("spool/incidents")).unwrap();
    let incident = "spool/incidents/2026-11-24T10-15-03Z-stop.fathom";
    bench.run(&["import", "big.csv", "-o", incident, "--service", "shop", "--host", "web-1"]);
    let local = json(bench.dir.path(), &["info", incident]);
    let only = "property:fathom.test=no-such-jvm";
    let args = ["agent", "--where", only, "--to", "s3://fleet", "--spool", "spool", "--max-memory", "1GB"];
    let mut agent = live::process::Running::start(&mut bench.command(&args));
    let end = Instant::now() + Duration::from_secs(120);
    while bench.path(incident).exists() {
        assert!(Instant::now() < end, "it does not arrive");
        std::thread::sleep(Duration::from_millis(100));
    }
    agent.signal("TERM");
    assert!(agent.end().success());
    assert_eq!(bench.server.unfinished_uploads(), 0);
    let all = bench.files("copy");
    let is_incident = |(name, _): &&(PathBuf, Vec<u8>)| name.starts_with("incidents");
    let (name, content) = all.iter().find(is_incident).unwrap();
    assert!(
        content.len() > 5 << 20 && name.to_string_lossy().contains("service=shop/host=web-1/"),
        "{name:?}"
    );
    let address = format!("s3://fleet/{}", name.display());
    let output = bench.run(&["info", "--json", &address]);
    let of_bucket: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(of_bucket["series"], local["series"], "{}", said(&output));
    assert!(local["series"].to_string().contains("700000"), "{local}");
    assert!(said(&bench.run(&["diagnose", &address])).contains("fetching s3://fleet/incidents/"));
}

#[test]
fn what_a_bucket_refuses_is_one_sentence_without_secrets() {
    const SECRET: &str = "a-secret-that-nobody-may-see";
    let Some(bench) = Bench::new() else { return };
    let [id, _] = bench.server.keys().clone();
    type Environment<'a> = Vec<(&'a str, &'a str)>;
    let stranger = bench.server.environment_of_a_stranger();
    let stranger: Environment = stranger.iter().map(|(name, value)| (&name[..], &value[..])).collect();
    let cases: [(&str, Environment, &str); 11] = [
        ("fleet", vec![("AWS_SECRET_ACCESS_KEY", SECRET)], "credentials are refused (SignatureDoesNotMatch)"),
        ("fleet", vec![("AWS_ACCESS_KEY_ID", SECRET)], "credentials are refused (InvalidAccessKeyId)"),
        ("fleet", vec![("AWS_SESSION_TOKEN", SECRET)], "credentials are refused (InvalidToken)"),
        ("fleet", stranger, "not allowed to do that there"),
        ("nothing", vec![], "there is no such bucket"),
        (
            "fleet",
            vec![("AWS_ENDPOINT_URL", "http://127.0.0.1:1")],
            "it cannot be reached: Connection refused",
        ),
        ("fleet", vec![("AWS_ENDPOINT_URL", "http://no-such-host.invalid")], "it cannot be reached: "),
        ("fleet", vec![("AWS_ALLOW_HTTP", "false")], "AWS_ALLOW_HTTP=true"),
        ("fleet", vec![("AWS_ENDPOINT_URL", "minio:9000")], "AWS_ENDPOINT_URL is not an address"),
        ("fleet", vec![("AWS_REGION", "")], "AWS_REGION is not a region"),
        ("x", vec![], "a bucket has a name of 3 to 63"),
    ];
    for (bucket, environment, expected) in cases {
        let address = format!("s3://{bucket}/prod");
        let place = ["fleet", "add", "a.fathom", "--to", &address[..]];
        let question = ["fleet", "pauses", "--at", &address[..]];
        let input = ["diagnose", &address[..]];
        for args in [&place[..], &question, &input] {
            let mut command = bench.command(args);
            command.envs(environment.iter().copied());
            let output = command.output().unwrap();
            let said = said(&output);
            assert_eq!(output.status.code(), Some(if bucket == "x" { 2 } else { 3 }), "{args:?}: {said}");
            let sentences: Vec<&str> = said.lines().filter(|line| !line.contains("fetching")).collect();
            assert_eq!(sentences.len(), 1, "{args:?}: {said}");
            assert!(sentences[0].contains(expected), "{args:?}: {said}");
            assert!(!said.contains(SECRET) && !said.contains(&id) && !said.contains('<'), "{args:?}: {said}");
        }
    }
    let mut without = bench.command(&["fleet", "pauses", "--at", "s3://fleet"]);
    without.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
    let output = without.env("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1").output().unwrap();
    assert!(said(&output).contains("there are no credentials: set AWS_ACCESS_KEY_ID"), "{}", said(&output));
}
