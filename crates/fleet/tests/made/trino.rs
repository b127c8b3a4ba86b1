//! A server of Trino for tests: `scripts/trino.sh` brings it, and `FATHOM_TEST_TRINO` names where.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::python;

/// It takes half a minute to come up on an idle machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// Runs SQL, one statement an argument, the first argument being the port. Exit status 1: the
/// server is not up yet.
const CLIENT: &str = "
import sys, trino
engine = trino.dbapi.connect(host='127.0.0.1', port=int(sys.argv[1]), user='fathom')
for statement in sys.argv[2:]:
    engine.cursor().execute(statement).fetchall()
";

/// A server with a catalogue `iceberg`, which ends with the test.
pub struct Trino {
    server: Child,
    port: u16,
    dir: tempfile::TempDir,
}

impl Trino {
    /// Starts one; `None`, with a note, where there is none.
    pub fn start() -> Option<Self> {
        let home = std::env::var_os("FATHOM_TEST_TRINO").map(PathBuf::from).unwrap_or_default();
        if !home.join("java").exists() {
            fathom_testing::skip("no server of Trino is here: scripts/trino.sh brings it");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let write = |name: &str, lines: &[String]| {
            let file = dir.path().join(name);
            std::fs::write(&file, lines.join("\n")).unwrap();
            file
        };
        std::fs::create_dir_all(dir.path().join("etc/catalog")).unwrap();
        let config = [
            "node.environment=test".to_owned(),
            "node.bind-ip=127.0.0.1".to_owned(),
            "node.internal-address=127.0.0.1".to_owned(),
            format!("plugin.dir={}", home.join("plugin").display()),
            "node-scheduler.include-coordinator=true".to_owned(),
            format!("http-server.http.port={port}"),
            format!("discovery.uri=http://127.0.0.1:{port}"),
        ];
        let config = write("etc/config.properties", &config);
        // The recipe of docs/fleet.md.
        let catalog = [
            "connector.name=iceberg".to_owned(),
            "iceberg.catalog.type=TESTING_FILE_METASTORE".to_owned(),
            format!("hive.metastore.catalog.dir=local://{}", dir.path().join("metastore").display()),
            "iceberg.register-table-procedure.enabled=true".to_owned(),
            "fs.native-local.enabled=true".to_owned(),
            "local.location=/".to_owned(),
        ];
        write("etc/catalog/iceberg.properties", &catalog);
        let log = std::fs::File::create(dir.path().join("log")).unwrap();
        let mut java = Command::new(home.join("java"));
        java.args(["-Xmx1g", "-XX:+UseSerialGC", "--add-modules=jdk.incubator.vector"])
            .arg(format!("-Dconfig={}", config.display()))
            .args(["-cp", &format!("{}/lib/*", home.display()), "io.trino.server.TrinoServer"])
            .current_dir(dir.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        let mut trino = Self { server: java.spawn().unwrap(), port, dir };
        let end = Instant::now() + PATIENCE;
        while !trino.run(&["SELECT 1"]) {
            let ended = trino.server.try_wait().unwrap();
            let log = || std::fs::read_to_string(trino.dir.path().join("log")).unwrap();
            assert!(ended.is_none() && Instant::now() < end, "{ended:?}: {}", log());
            std::thread::sleep(Duration::from_secs(1));
        }
        Some(trino)
    }

    fn run(&self, statements: &[&str]) -> bool {
        let mut client = Command::new(python().unwrap());
        client.args(["-c", CLIENT, &self.port.to_string()]).args(statements);
        client.stderr(Stdio::null()).status().unwrap().success()
    }

    /// Makes a schema of the tables at a place, and has the address at which it is asked.
    pub fn schema(&self, name: &str, place: &Path) -> PathBuf {
        let catalog = place.join("iceberg");
        let tables = fathom_fleet::register(place, &catalog, &python().unwrap().to_string_lossy()).unwrap();
        assert!(self.run(&[&format!("CREATE SCHEMA iceberg.{name}")]));
        for table in tables {
            let (at, of) = (catalog.join("fathom").join(table.table), table.table);
            let call = format!(
                "CALL iceberg.system.register_table('{name}', '{of}', 'file://{}')",
                at.canonicalize().unwrap().display()
            );
            assert!(self.run(&[&call]), "{call}");
        }
        format!("http://fathom@127.0.0.1:{}/iceberg/{name}", self.port).into()
    }
}

impl Drop for Trino {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
