#!/usr/bin/env bash
# Counts the pauses of every GC log below a folder twice, with fathom's readers and with independent
# counters (scripts/count/), and prints both and a verdict, one line per file. The method and the
# results: docs/counting.md.
#
#   scripts/count-corpus.sh DIR       exit 0: agreement everywhere; 1: not
set -euo pipefail
[ -d "${1:-}" ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
cargo build --quiet --release --manifest-path "$root/Cargo.toml" -p fathom-ingest --example gc_pauses
exec python3 "$root/scripts/count/corpus.py" "$root/target/release/examples/gc_pauses" "$1"
