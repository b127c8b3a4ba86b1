#!/usr/bin/env bash
# scripts/fuzz.sh SECONDS [TARGET…]: every fuzz target for SECONDS, from the fixtures as seeds.
# Needs no nightly compiler: coverage instrumentation is an LLVM pass that the stable compiler can
# run (the flags are those of cargo-fuzz without a sanitizer). A crash leaves its input in
# fuzz/artifacts/TARGET/ and ends with status 1.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"
seconds=${1:-60}; shift || true
command -v c++ >/dev/null || { echo "fuzz: libFuzzer is built with a C++ compiler, which is missing here" >&2; exit 3; }
export RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
 -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Ccodegen-units=1"
# With --target the flags stay away from build scripts and macros.
host=$(rustc -vV | sed -n 's/^host: //p')
cargo build --release --target "$host"
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=($(sed -n 's/^name = "\(.*\)"$/\1/p' Cargo.toml | grep -v '^fathom-fuzz$'))
for target in "${targets[@]}"; do
  mkdir -p "corpus/$target" "artifacts/$target" "seeds/$target"
  case $target in
    unified_log) from=(../crates/ingest/fixtures/unified) ;;
    jdk8_gc_log) from=(../crates/ingest/fixtures/jdk8) ;;
    log_compilation | print_compilation) from=(../crates/ingest/fixtures/jit) ;;
    jfr) from=(../crates/ingest/fixtures/jfr) ;;
    access_log) from=(../crates/ingest/fixtures/access-log) ;;
    strace) from=(../crates/ingest/fixtures/strace) ;;
    folded) from=(../crates/ingest/fixtures/folded) ;;
    perf_script) from=(../crates/ingest/fixtures/perf-script) ;;
    pprof) from=(../crates/ingest/fixtures/pprof) ;;
    otlp_profiles) from=(../crates/ingest/fixtures/otlp) ;;
    table) from=(../crates/ingest/fixtures/table ../crates/ingest/fixtures/elasql) ;;
    # Any bytes are rows.
    live_rows) from=(../crates/diagnose/fixtures/live) ;;
    heap_dump) from=(../crates/heap/fixtures) ;;
    *) from=(../crates/ingest/fixtures) ;;
  esac
  # Seeds are the heads of the fixtures: libFuzzer is best on small inputs.
  for file in $(find "${from[@]}" -type f ! -name '*.md' ! -name '*.java' 2>/dev/null); do
    case $file in *.zst) zstd -dcq "$file" 2>/dev/null ;; *.gz) gzip -dcq "$file" 2>/dev/null ;; *) cat "$file" ;; esac | head -c 16384 \
      >"seeds/$target/$(echo "$file" | tr -c 'A-Za-z0-9\n' _)" || true
  done
  echo "fuzz: $target for $seconds s" >&2
  "target/$host/release/$target" "corpus/$target" "seeds/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -max_len=65536 -artifact_prefix="artifacts/$target/" -verbosity=0 -print_final_stats=1 2>&1 | grep -E 'number_of_executed|ERROR|panicked|peak_rss|Test unit' ||
    { echo "fuzz: $target failed" >&2; exit 1; }
  [ -z "$(ls -A "artifacts/$target")" ] || { echo "fuzz: $target left a crash in fuzz/artifacts/$target" >&2; exit 1; }
done
echo "fuzz: no crash"
