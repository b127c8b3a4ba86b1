//! Options that say nothing to each other are refused by one sentence with exit status 2, before
//! anything is read or begun.

use crate::live::{fathom, said};

/// Command lines, and what is said of them. No process 4194305 can be there, and no file is: that
/// would be the next error.
const REFUSED: &[(&str, &str)] = &[
    ("heap x.hprof --every 1s", "cannot be used with '--every <TIME>'"),
    ("heap x.hprof --dump y.hprof", "cannot be used with '--dump <FILE>'"),
    ("heap x.hprof --with-garbage", "cannot be used with"),
    ("heap x.hprof --class A --show-values", "cannot be used with"),
    ("heap x.hprof --paths 0x10 --show-values", "cannot be used with"),
    ("diagnose x --slowest 1% --slow 1s..2s", "cannot be used with"),
    ("diagnose x --slowest 1% --base 1s..2s", "cannot be used with"),
    ("diagnose x --slowest 1% --mark 1s=x", "cannot be used with"),
    ("diagnose x --op event:1 --marks x.csv", "cannot be used with"),
    ("diagnose x --op event:1 --kind a.B", "cannot be used with"),
    ("diagnose x --json --all", "cannot be used with"),
    ("info x --json --all", "cannot be used with"),
    ("ledger x --json --all", "cannot be used with"),
    ("demo --json --all", "cannot be used with"),
    ("flame x --by total", "--by sorts a table"),
    ("flame x --top --by change", "--by change needs something to compare with"),
    ("export x --format pprof -o x.pb --table spans", "--table is for --format csv, tsv, parquet"),
    ("export x --format csv -o x.csv --annotated", "--annotated is for --format folded"),
    ("export x --format csv -o x.csv --per-thread", "--per-thread is for --format folded, speedscope"),
    ("chain x --threads 0 --all-time", "--threads 0 shows none"),
    ("chain x --threads 0 --stops 0", "leaves nothing to be shown"),
    ("compare a.json b.json --runs 5", "cannot be used with"),
    ("compare a.json b.json --metric cpu", "cannot be used with"),
    ("compare a.json b.json --out c.json", "cannot be used with"),
    ("compare a.json b.json --keep-warm-up", "--keep-warm-up is for commands"),
    ("fleet --json", "--json"),
    ("fleet --set a=b", "--set"),
    ("trace gc -p 4194305 --force", "--output"),
    ("trace lock 25374", "write the process behind -p: fathom trace lock -p 25374"),
    ("record -p 4194305 --engine jfr --without jfr", "leaves out everything that this engine records"),
    ("record -p 4194305 --engine jfr --without sched", "sched is not a collector of --engine jfr"),
    ("record -p 4194305 --engine ebpf --without jfr", "jfr is not a collector of --engine ebpf"),
    ("record -p 4194305 --engine jfr --min 5ms", "--min says what collectors of eBPF record"),
    ("record -p 4194305 --with cpu", "--with cpu: it is on by default"),
    ("record -p 4194305 --with probes --without probes", "contradict each other"),
    ("record -p 4194305 --without cpu -F 49", "--without cpu takes none"),
    ("record -p 4194305 --on-slow stop>200ms --force", "cannot be used with"),
];

#[test]
fn an_option_that_would_do_nothing_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for (line, sentence) in REFUSED {
        let output = fathom(dir.path(), &line.split(' ').collect::<Vec<_>>());
        let said = said(&output);
        let is_late = said.contains("No such file") || said.contains("no process");
        if output.status.code() != Some(2) || !said.contains(sentence) || is_late {
            wrong.push(format!("{line}: {:?} {said}", output.status.code()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
