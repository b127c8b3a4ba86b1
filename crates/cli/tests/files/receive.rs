//! `fathom receive`: what clients push becomes files that are read, and nothing else does.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A receiver that runs, ended when it is dropped.
struct Receiver {
    child: Child,
    address: String,
    dir: tempfile::TempDir,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Receiver {
    fn start(more: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_fathom"))
            .args(["receive", "--listen", "127.0.0.1:0", "--out"])
            .arg(dir.path().join("pushed"))
            .args(more)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        let address = line.trim().rsplit_once("http://").unwrap_or_else(|| panic!("{line}")).1.to_owned();
        // What it says further must not fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        Self { child, address, dir }
    }

    /// The status of the answer, and the answer.
    fn post(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, String) {
        self.post_of(path, headers, body.len(), body)
    }

    /// The same for a body that is announced with a length and may not be sent.
    fn post_of(&self, path: &str, headers: &[(&str, &str)], length: usize, body: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let mut head = format!("POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {length}\r\n\r\n"));
        stream.write_all(head.as_bytes()).unwrap();
        // A body that is refused may not be read to its end.
        let _ = stream.write_all(body);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.unwrap_or_else(|| panic!("{path}: {answer}")), answer)
    }

    /// The files that it has written, below its directory.
    fn files(&self) -> Vec<PathBuf> {
        fn look(dir: &Path, into: &mut Vec<PathBuf>) {
            for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
                let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
                if entry.path().is_dir() {
                    assert_eq!(mode, 0o700, "{:?}", entry.path());
                    look(&entry.path(), into);
                } else {
                    assert_eq!(mode, 0o600, "{:?}", entry.path());
                    into.push(entry.path());
                }
            }
        }
        let mut files = Vec::new();
        look(&self.dir.path().join("pushed"), &mut files);
        files.sort();
        files
    }
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../ingest/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// A form as Pyroscope's agents send it.
fn form(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, bytes) in parts {
        let head = format!(
            "--XX\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{name}\"\r\nContent-Type: application/octet-stream\r\n\r\n"
        );
        body.extend(head.into_bytes());
        body.extend(*bytes);
        body.extend(b"\r\n");
    }
    body.extend(b"--XX--\r\n");
    body
}

const FORM: (&str, &str) = ("Content-Type", "multipart/form-data; boundary=XX");
const PROTOBUF: (&str, &str) = ("Content-Type", "application/x-protobuf");

fn info(file: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fathom")).arg("info").arg(file).output().unwrap();
    assert!(output.status.success(), "{file:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn what_is_pushed_lies_there_as_it_came_and_is_read() {
    let receiver = Receiver::start(&[]);
    let pprof = fixture("pprof/cpu.pb.gz");
    let otlp = fixture("otlp/async-cpu.otlp");
    let folded = fixture("folded/async17.collapsed");
    let name = "shop%7Bhostname%3Dweb-1%2Czone%3Db%7D";
    let path = format!("/ingest?name={name}&from=1&until=2&format=pprof&spyName=x");
    assert_eq!(receiver.post(&path, &[], &pprof).0, 200);
    assert_eq!(receiver.post(&path, &[FORM], &form(&[("labels", b"x"), ("profile", &pprof)])).0, 200);
    assert_eq!(receiver.post("/ingest?name=../../x", &[], &folded).0, 200);
    let large = b"main;a;b 12\n".repeat(300_000);
    assert_eq!(receiver.post("/ingest?name=large", &[FORM], &form(&[("profile", &large)])).0, 200);
    let (status, answer) = receiver.post("/v1development/profiles", &[PROTOBUF], &otlp);
    assert_eq!(status, 200);
    assert!(answer.contains("application/x-protobuf") && answer.ends_with("\r\n\r\n"), "{answer}");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&otlp).unwrap();
    let packed = packed.finish().unwrap();
    let gzip = ("Content-Encoding", "gzip");
    assert_eq!(receiver.post("/v1development/profiles", &[PROTOBUF, gzip], &packed).0, 200);
    let files = receiver.files();
    let lies = |below: &str, ending: &str| {
        let wanted = |file: &&PathBuf| {
            let file = file.to_string_lossy();
            file.contains(below) && file.ends_with(ending)
        };
        files.iter().filter(wanted).collect::<Vec<_>>()
    };
    assert_eq!(files.len(), 6, "{files:?}");
    let of_shop = lies("/service=shop/host=web-1/", ".pb.gz");
    assert_eq!(of_shop.len(), 2, "{files:?}");
    for file in of_shop {
        assert_eq!(std::fs::read(file).unwrap(), pprof);
        assert!(info(file).contains("180 ms"), "{}", info(file));
    }
    let folded = lies("/service=%2E.%2F..%2Fx/", ".folded");
    assert_eq!(folded.len(), 1, "{files:?}");
    info(folded[0]);
    for ending in [".otlp", ".otlp.gz"] {
        let [file] = lies("/service=__HIVE_DEFAULT_PARTITION__/", ending)[..] else { panic!("{files:?}") };
        assert!(info(file).contains("otlp-profiles"), "{}", info(file));
    }
}

#[test]
fn what_is_no_profile_or_too_large_is_refused_and_leaves_nothing() {
    let receiver = Receiver::start(&["--max-request", "100kB", "--max-disk", "150kB"]);
    let refused = |path: &str, headers: &[(&str, &str)], body: &[u8], status: u16| {
        let (given, answer) = receiver.post(path, headers, body);
        assert_eq!(given, status, "{path}: {answer}");
        answer
    };
    let folded = b"main;a;b 12\nmain;a 3\nmain;c 1\n";
    refused("/ingest?name=x", &[], b"hello", 415);
    refused("/ingest?name=x", &[], b"", 415);
    refused("/ingest?name=x", &[FORM], &form(&[("labels", b"x")]), 400);
    refused("/ingest?name=x", &[FORM], b"--XX\r\n", 400);
    refused("/ingest?name=x", &[("Content-Encoding", "br")], folded, 415);
    refused("/v1development/profiles", &[PROTOBUF], folded, 415);
    refused("/v1development/profiles", &[("Content-Type", "application/json")], b"{}", 415);
    refused("/ingest?name=x", &[("Origin", "http://evil.example")], folded, 403);
    let (status, answer) = receiver.post_of("/ingest?name=x", &[], 240_000, b"");
    assert_eq!(status, 413, "{answer}");
    refused("/v1/traces", &[], folded, 404);
    assert_eq!(receiver.files(), Vec::<PathBuf>::new());
    let most = b"main;a;b 12\n".repeat(6_000);
    assert_eq!(receiver.post("/ingest?name=x", &[], &most).0, 200);
    assert_eq!(receiver.post("/ingest?name=x", &[], &most).0, 200);
    let answer = refused("/ingest?name=x", &[], &most, 503);
    assert!(answer.to_lowercase().contains("retry-after: 60"), "{answer}");
    // What is removed makes room.
    std::fs::remove_file(&receiver.files()[0]).unwrap();
    assert_eq!(receiver.post("/ingest?name=x", &[], &most).0, 200);
}

#[test]
fn a_token_keeps_others_out() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("token");
    std::fs::write(&file, "secret-1\n").unwrap();
    let receiver = Receiver::start(&["--token-file", file.to_str().unwrap()]);
    let folded = b"main;a;b 12\nmain;a 3\nmain;c 1\n";
    for (header, status) in [
        (None, 401),
        (Some("Bearer secret-2"), 401),
        (Some("Bearer secret-1"), 200),
        (Some("Basic eDpzZWNyZXQtMQ=="), 200),
    ] {
        let headers: Vec<_> = header.iter().map(|value| ("Authorization", *value)).collect();
        assert_eq!(receiver.post("/ingest?name=x", &headers, folded).0, status, "{header:?}");
    }
    let open = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["receive", "--listen", "0.0.0.0:0", "--out"])
        .arg(dir.path().join("x"))
        .output()
        .unwrap();
    assert_eq!(open.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&open.stderr).contains("--token-file"), "{open:?}");
}
