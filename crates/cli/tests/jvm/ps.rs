//! `fathom ps` on a real JVM, from the outside.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const PROGRAM: &str = "public class Waits {
  public static void main(String[] args) throws Exception {
    System.out.println(\"ready\");
    Thread.sleep(600_000);
  }
}";

fn fathom(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom")).args(args).output().unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A JVM that waits, killed when dropped.
struct Jvm(Child);

impl Drop for Jvm {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Compiles and starts the program; `None`, loudly, without a JDK.
fn jvm(folder: &Path, options: &[&str]) -> Option<Jvm> {
    let jdks = json(&fathom(&["jdks", "--json"]));
    let home = jdks["jdks"].as_array().unwrap().iter().find(|jdk| jdk["javac"] == true);
    let Some(home) = home.and_then(|jdk| jdk["home"].as_str()).map(PathBuf::from) else {
        fathom_testing::skip("no JDK with a compiler was found");
        return None;
    };
    let source = folder.join("Waits.java");
    std::fs::write(&source, PROGRAM).unwrap();
    let compiled = Command::new(home.join("bin/javac")).arg("-d").arg(folder).arg(&source).status();
    assert!(compiled.unwrap().success());
    let mut command = Command::new(home.join("bin/java"));
    command.args(options).arg("-cp").arg(folder).args(["Waits", "--token=hunter2"]).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    Some(Jvm(child))
}

#[test]
fn a_running_jvm_is_listed_with_what_it_runs_and_without_its_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let options = [
        "-XX:+UseSerialGC",
        "-Ddb.password=hunter2",
        "-Dplain=shown",
        "-Durl=jdbc:mysql://me:hunter2@db:3306/x?ssl=true",
        "-Dturned=\u{202e}around",
    ];
    let Some(jvm) = jvm(folder.path(), &options) else { return };
    let output = fathom(&["ps", "--json"]);
    let reported = json(&output);
    assert_eq!(reported["schema"], "fathom.ps/1");
    let own = reported["jvms"].as_array().unwrap().iter().find(|row| row["pid"] == jvm.0.id()).unwrap();
    assert_eq!(
        (&own["main"], &own["collector"], &own["runtime"]),
        (&"Waits".into(), &"Serial".into(), &"hotspot".into())
    );
    assert!(own["jdk"].as_u64().unwrap() >= 8 && own["uptime_s"].as_f64().unwrap() >= 0.0, "{own}");
    let written = String::from_utf8_lossy(&output.stdout);
    assert!(
        !written.contains("hunter2") && written.contains("jdbc:mysql://me:***@db:3306/x?ssl=true"),
        "{written}"
    );
    assert!(!written.contains('\u{202e}') && written.contains("\\u202e"), "{written}");
    let table = String::from_utf8(fathom(&["ps", "-l"]).stdout).unwrap();
    let pid = jvm.0.id().to_string();
    assert!(table.lines().any(|line| line.starts_with(&pid) && line.ends_with("Waits")), "{table}");
    assert!(table.contains("-Dplain=shown") && table.contains("-Ddb.password=***"), "{table}");
    assert!(!table.contains("hunter2"), "{table}");
}

#[test]
fn another_user_sees_what_could_not_be_looked_into_and_how_to() {
    if !Path::new("/usr/bin/setpriv").exists() || !is_root() {
        fathom_testing::skip("only root can become another user");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(jvm) = jvm(folder.path(), &[]) else { return };
    // The program itself may lie where another user cannot go.
    let program = folder.path().join("fathom");
    std::fs::copy(env!("CARGO_BIN_EXE_fathom"), &program).unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let as_nobody = |args: &[&str]| {
        let mut command = Command::new("/usr/bin/setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&program).args(args);
        command.output().unwrap()
    };
    let output = as_nobody(&["ps"]);
    assert!(output.status.success(), "{output:?}");
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(reported.contains("could not be inspected") && reported.contains("sudo fathom ps"), "{reported}");
    let reported = json(&as_nobody(&["ps", "--json"]));
    let hidden = reported["not_seen"]["java"].as_array().unwrap();
    assert!(hidden.iter().any(|row| row["pid"] == jvm.0.id() && row["main"] == "Waits"), "{reported}");
    assert!(!reported["jvms"].as_array().unwrap().iter().any(|row| row["pid"] == jvm.0.id()));
}

/// Whether this is root, by the owner of its own `/proc` entry.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}
