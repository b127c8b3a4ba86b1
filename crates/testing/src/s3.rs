//! A server of the S3 protocol for tests: `moto`, which `scripts/setup.sh` brings.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What it does; the file says how it is controlled.
const SERVER: &str = include_str!("s3_server.py");
/// Where `scripts/setup.sh` puts its packages, below the user's cache.
const PACKAGES: &str = "fathom/moto-5.2.5";

/// A server with a bucket `fleet`, which ends with the test.
pub struct Server {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    url: String,
    writer: [String; 2],
    stranger: [String; 2],
}

impl Server {
    /// Starts one; `None`, with a note, where there is none.
    #[must_use]
    pub fn start() -> Option<Self> {
        let var = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let cache = var("XDG_CACHE_HOME").or_else(|| Some(var("HOME")?.join(".cache")));
        let packages = cache.unwrap_or_default().join(PACKAGES);
        if !packages.join("moto").is_dir() {
            crate::skip("no server of the S3 protocol (moto) is installed: scripts/setup.sh brings it");
            return None;
        }
        let mut python = Command::new("python3");
        python.args(["-c", SERVER]).env("PYTHONPATH", &packages);
        let mut process = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let mut from = BufReader::new(from);
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        let said = |name: &str| {
            let (_, behind) =
                line.split_once(&format!("\"{name}\": \"")).unwrap_or_else(|| panic!("{line:?}"));
            behind.split('"').next().unwrap().to_owned()
        };
        let keys = |name: &str| {
            let (_, of) = line.split_once(&format!("\"{name}\": ")).unwrap();
            let of: Vec<&str> = of.split('"').collect();
            [of[3].to_owned(), of[7].to_owned()]
        };
        Some(Self { url: said("url"), writer: keys("writer"), stranger: keys("stranger"), process, to, from })
    }

    /// The environment of a program that may use it.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, String)> {
        self.environment_of(&self.writer[0], &self.writer[1])
    }

    /// The same for one who is known and may do nothing.
    #[must_use]
    pub fn environment_of_a_stranger(&self) -> Vec<(String, String)> {
        self.environment_of(&self.stranger[0], &self.stranger[1])
    }

    /// The same with these keys.
    #[must_use]
    pub fn environment_of(&self, id: &str, secret: &str) -> Vec<(String, String)> {
        let all = [
            ("AWS_ENDPOINT_URL", &self.url[..]),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", id),
            ("AWS_SECRET_ACCESS_KEY", secret),
        ];
        all.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    /// The id and the secret of the one who may use it.
    #[must_use]
    pub fn keys(&self) -> &[String; 2] {
        &self.writer
    }

    /// Closes its socket: connections are refused. What it has stays.
    pub fn go_away(&mut self) {
        self.ask("away");
    }

    /// Opens it again.
    pub fn come_back(&mut self) {
        self.ask("back");
    }

    /// Copies the bucket into a directory.
    pub fn copy_to(&mut self, dir: &Path) {
        self.ask(&format!("copy {}", dir.display()));
    }

    /// Removes everything from it.
    pub fn clear(&mut self) {
        self.ask("clear");
    }

    /// How many versions of objects were ever put.
    pub fn versions(&mut self) -> usize {
        self.ask("versions").parse().unwrap()
    }

    /// How many uploads in parts were begun and neither finished nor given up.
    pub fn unfinished_uploads(&mut self) -> usize {
        self.ask("uploads").parse().unwrap()
    }

    fn ask(&mut self, command: &str) -> String {
        writeln!(self.to, "{command}").unwrap();
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "the server ended: {command}");
        line.trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
