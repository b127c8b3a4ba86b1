#!/usr/bin/env bash
# scripts/heap/compare.sh DUMP [N]: the N objects (300) that retain most, as the heap library of
# NetBeans computes them, next to fathom's numbers for the same objects. The library comes from
# Maven Central into a folder outside of the checkout ($XDG_CACHE_HOME/fathom/heap).
#
# Exit status: 3 when Maven or a JDK is missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dump=$(realpath "$1")
most=${2:-300}
version=RELEASE250
for tool in mvn javac java; do command -v $tool >/dev/null || { echo "compare: $tool is missing" >&2; exit 3; }; done
cache=${XDG_CACHE_HOME:-$HOME/.cache}/fathom/heap
jar=$cache/org-netbeans-lib-profiler-$version.jar
mkdir -p "$cache"
[ -s "$jar" ] || mvn -q -B dependency:copy -Dartifact=org.netbeans.modules:org-netbeans-lib-profiler:$version -DoutputDirectory="$cache"
javac -cp "$jar" -d "$cache" "$here/NetBeansRetained.java"
cargo build -q --release -p fathom-heap --example measure --manifest-path "$here/../../Cargo.toml"
target=$(cargo metadata --format-version 1 --no-deps --manifest-path "$here/../../Cargo.toml" | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
# The library keeps its indexes next to the dump's folder of temporary files; heaps need some three
# times the memory of the objects.
java -Xmx"${JAVA_HEAP:-4g}" -cp "$cache:$jar" NetBeansRetained "$dump" "$most" >"$cache/netbeans.txt"
"$target/release/examples/measure" "$dump" 1000000 >"$cache/fathom.txt"
awk 'NR == FNR { theirs[$1] = $2; next }
  $1 in theirs && theirs[$1] > 0 {
    ratio = $2 / theirs[$1]; n++
    if (ratio > 0.85 && ratio < 1.15) near++
    else printf "%-12s fathom %12d  NetBeans %12d  %s\n", $1, $2, theirs[$1], $4
  }
  END { printf "%d objects in both, %d of them within 15 %%\n", n, near }' "$cache/netbeans.txt" "$cache/fathom.txt"
