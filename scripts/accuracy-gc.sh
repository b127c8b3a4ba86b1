#!/usr/bin/env bash
# Compares the verdicts on GC logs with what those logs say themselves: runs `fathom gc` and `fathom
# diagnose` on every GC log of some public repositories and writes the table docs/accuracy-gc.md.
# The logs stay where they are.
#
#   scripts/accuracy-gc.sh [--gcviewer JAR] [--garbagecat JAR] [--page FILE] [DIR …]
#
# Each DIR is a checkout, named OWNER+NAME. Without any, the repositories are cloned into
# target/accuracy-gc. GCViewer's jar:
# mvn dependency:get -Dartifact=com.github.chewiebug:gcviewer:1.36 -Dtransitive=false
# Exit 0: no unacceptable verdict; 1: there are some, listed by name; 2: no logs.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
repositories="chewiebug/GCViewer eclipse-jifa/jifa mgm3746/garbagecat microsoft/gctoolkit-testdata"
options=() dirs=() page=$root/docs/accuracy-gc.md
while [ $# -gt 0 ]; do
    case $1 in
    --gcviewer | --garbagecat | --raw) options+=("$1" "$2") && shift 2 ;;
    --page) page=$2 && shift 2 ;;
    -*) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
    *) dirs+=("$1") && shift ;;
    esac
done
if [ ${#dirs[@]} -eq 0 ]; then
    for repository in $repositories; do
        dir=$root/target/accuracy-gc/${repository/\//+}
        [ -d "$dir" ] || git clone --quiet --depth 1 "https://github.com/$repository" "$dir" ||
            { echo "cannot clone $repository: pass folders with its checkout (OWNER+NAME) as arguments" >&2; continue; }
        dirs+=("$dir")
    done
fi
[ ${#dirs[@]} -gt 0 ] || { echo "no logs to look at" >&2; exit 2; }
fathom=${FATHOM:-$root/target/release/fathom}
[ -x "$fathom" ] || cargo build --quiet --release --manifest-path "$root/Cargo.toml" --bin fathom
exec python3 "$root/scripts/accuracy/gc_logs.py" --fathom "$fathom" --page "$page" "${options[@]}" "${dirs[@]}"
