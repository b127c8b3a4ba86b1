#!/usr/bin/env bash
# scripts/heap/mat.sh MAT DUMP...: the 1000 objects that keep most of each dump, as Eclipse MAT
# computes them without a workbench, next to fathom's figures for the same objects. MAT is a clone
# of MAT's repository; its plug-ins report, api, parser and hprof are compiled as they are, but for
# the page of preferences, and run on Equinox from Maven Central. Its test dumps are in
# plugins/org.eclipse.mat.tests/dumps.
#
# MAT writes its indexes next to a dump, so each is linked into a folder of its own. JAVA_HOME is a
# JDK 21 or later, JAVA_HEAP (2g) what MAT may take. Exit status: 3 when Maven, git, Python or a JDK
# is missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mat=$(realpath "$1")
shift
for tool in mvn git python3 "${JAVA_HOME:-/none}/bin/javac"; do command -v "$tool" >/dev/null || { echo "mat: $tool is not here" >&2; exit 3; }; done
work=${XDG_CACHE_HOME:-$HOME/.cache}/fathom/mat
rm -rf "$work"
mkdir -p "$work/plugins" "$work/dumps" "$work/configuration"
mvn -q -B -f "$here/mat/pom.xml" dependency:copy-dependencies -DoutputDirectory="$work/plugins"
# Annotations only; what is in it others bring along.
rm -f "$work"/plugins/osgi.annotation-*.jar

classpath="$work/plugins/*"
for plugin in report api parser hprof; do
  name=org.eclipse.mat.$plugin
  source=$work/sources/$plugin
  mkdir -p "$source"
  git -C "$mat" archive "HEAD:plugins/$name" | tar x -C "$source"
  out=$work/classes/$plugin
  mkdir -p "$out"
  rm -f "$source"/src/org/eclipse/mat/hprof/ui/HPROFPreferencePage.java
  if [ $plugin = api ]; then cp -r "$here/mat/stubs/edu" "$source/src/"; fi
  if [ $plugin = hprof ]; then cp -r "$here/mat/stubs/org" "$source/src/"; fi
  find "$source/src" -name '*.java' >"$work/files"
  "$JAVA_HOME/bin/javac" -nowarn --release 21 -encoding UTF-8 -cp "$classpath" -d "$out" @"$work/files"
  (cd "$source/src" && find . -type f ! -name '*.java' -exec cp --parents {} "$out" \;)
  for part in plugin.xml plugin.properties META-INF icons reports schema preferences.ini; do
    if [ -e "$source/$part" ]; then cp -r "$source/$part" "$out/"; fi
  done
  sed -i 's/\.qualifier/.1/' "$out/META-INF/MANIFEST.MF"
  "$JAVA_HOME/bin/jar" cfm "$work/plugins/$name.jar" "$out/META-INF/MANIFEST.MF" -C "$out" .
  classpath=$classpath:$out
done
mkdir -p "$work/classes/top"
"$JAVA_HOME/bin/javac" --release 21 -cp "$classpath" -d "$work/classes/top" "$here/mat/src/fathom/Top.java"
cp "$here/mat/plugin.xml" "$work/classes/top/"
"$JAVA_HOME/bin/jar" cfm "$work/plugins/fathom.mat.jar" "$here/mat/MANIFEST.MF" -C "$work/classes/top" .

bundles=
for jar in "$work"/plugins/*.jar; do
  case $(basename "$jar") in
    org.eclipse.osgi-*) continue ;;
    org.apache.felix.scr-*) start=@1:start ;;
    org.eclipse.equinox.common-*) start=@2:start ;;
    org.eclipse.core.runtime-* | org.eclipse.equinox.app-* | org.eclipse.equinox.registry-* | org.eclipse.core.contenttype-*) start=@start ;;
    *) start= ;;
  esac
  bundles=$bundles,reference:file:$jar$start
done
printf 'osgi.bundles=%s\neclipse.application=fathom.mat.top\nosgi.bundles.defaultStartLevel=4\n' "${bundles#,}" >"$work/configuration/config.ini"

arguments=()
for dump in "$@"; do
  name=$(basename "$dump")
  mkdir -p "$work/dumps/$name"
  ln -sf "$(realpath "$dump")" "$work/dumps/$name/$name"
  arguments+=("$work/dumps/$name/$name" 1000 "$work/dumps/$name/mat.txt")
done
"$JAVA_HOME/bin/java" -Xmx"${JAVA_HEAP:-2g}" -jar "$work"/plugins/org.eclipse.osgi-*.jar -configuration "$work/configuration" -data "$work/workspace" \
  "${arguments[@]}" 2>&1 | grep -v '^WARNING' || true
cargo build -q --release -p fathom-heap --example measure --manifest-path "$here/../../Cargo.toml"
target=$(cargo metadata --format-version 1 --no-deps --manifest-path "$here/../../Cargo.toml" | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
for dump in "$@"; do
  folder=$work/dumps/$(basename "$dump")
  [ -s "$folder/mat.txt" ] || { echo "$dump: MAT read nothing"; continue; }
  "$target/release/examples/measure" "$dump" 100000000 >"$folder/fathom.txt" 2>/dev/null
  python3 "$here/mat/compare.py" "$dump" "$folder/mat.txt" "$folder/fathom.txt"
done
