#!/usr/bin/env bash
# Brings a server of Trino with its connector to Iceberg into a directory, from Maven Central
# (Apache-2.0, 540 MB to fetch, 450 MB on disk), with a link `java` to a Java of 24 or later, which
# it needs. Without such a Java nothing is fetched, and the tests that need the server skip.
#
#   scripts/trino.sh DIR
set -eu
version=476
dir=$1 central=https://repo1.maven.org/maven2/io/trino
say() { printf 'trino: %s\n' "$*" >&2; }

java=
for home in "${JAVA_HOME:-}" /usr/lib/jvm/*; do
  feature=$("$home/bin/java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p') || continue
  [ "${feature:-0}" -ge 24 ] && java=$home/bin/java && break
done
[ -n "$java" ] || { say "no Java of 24 or later here: its test will skip"; exit 0; }

# fetch ARTIFACT FILE: with the checksum that stands beside it.
fetch() {
  say "fetching $2 from Maven Central"
  curl -fsS -o "$dir.new/$2" "$central/$1/$version/$2"
  echo "$(curl -fsS "$central/$1/$version/$2.sha1")  $dir.new/$2" | sha1sum --check --quiet
}
if ! [ -d "$dir" ]; then
  rm -rf "$dir.new" && mkdir -p "$dir.new"
  fetch trino-server-core "trino-server-core-$version.tar.gz"
  fetch trino-iceberg "trino-iceberg-$version.zip"
  tar -xzf "$dir.new/trino-server-core-$version.tar.gz" -C "$dir.new"
  python3 -m zipfile -e "$dir.new/trino-iceberg-$version.zip" "$dir.new"
  mkdir "$dir.new/plugin"
  mv "$dir.new/trino-server-core-$version/lib" "$dir.new/lib"
  mv "$dir.new/trino-iceberg-$version" "$dir.new/plugin/iceberg"
  rm -r "$dir.new"/*-"$version"*
  mv "$dir.new" "$dir"
fi
ln -sf "$java" "$dir/java"
