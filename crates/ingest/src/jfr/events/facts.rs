//! What a recording says of the JVM and its machine, and its settings.

use fathom_recording::secrets::program_arguments;
use fathom_recording::vocabulary::fact;

use super::{Event, Kind, Reader};
use crate::jvm_args;

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "jdk.JVMInformation",
        fields: &["jvmVersion", "jvmArguments", "javaArguments", "jvmStartTime", "pid"],
        read: jvm,
    },
    Kind {
        name: "jdk.GCConfiguration",
        fields: &["youngCollector", "oldCollector", "parallelGCThreads", "concurrentGCThreads"],
        read: collector,
    },
    Kind { name: "jdk.GCHeapConfiguration", fields: &["maxSize", "initialSize"], read: heap },
    Kind { name: "jdk.CodeCacheConfiguration", fields: &["reservedSize"], read: code_cache },
    Kind { name: "jdk.CPUInformation", fields: &["hwThreads"], read: cpus },
    Kind { name: "jdk.ActiveSetting", fields: &["id", "name", "value"], read: setting },
    Kind { name: "jdk.BooleanFlag", fields: &["name", "value"], read: flag },
    Kind { name: "jdk.OSInformation", fields: &["osVersion"], read: system },
    Kind { name: "jdk.SwapSpace", fields: &["totalSize", "freeSize"], read: swap },
];

fn jvm<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    if let Some(version) = reader.text(event.field(0)) {
        let version = version_of(&version);
        if let Some(feature) = feature_of(version) {
            reader.writer.fact(fact::JDK, feature.to_string());
        }
        reader.writer.fact(fact::JVM_VERSION, version);
    }
    if let Some(args) = reader.text(event.field(1)).filter(|args| !args.is_empty()) {
        reader.writer.fact(fact::JVM_ARGS, jvm_args::masked(&args));
    }
    let command = reader.text(event.field(2)).unwrap_or_default();
    let program = program_arguments(command.split_whitespace().skip(1));
    if let Some(main) = main_of(&command) {
        reader.writer.fact(fact::MAIN, main.clone());
        let process = reader.writer.sink.process_mut(reader.writer.process);
        process.name = main;
        if !program.is_empty() {
            process.facts.insert(fact::MAIN_ARGS.to_owned(), program);
        }
    }
    if let Some(start_ns) = event.integer(3).filter(|ns| *ns > 0) {
        reader.writer.fact(fact::JVM_START_NS, start_ns.to_string());
    }
    if let Some(pid) = event.integer(4).filter(|pid| *pid > 0) {
        reader.writer.sink.process_mut(reader.writer.process).pid = Some(pid);
    }
    Some(())
}

/// "17.0.15+6-Debian-1deb12u1" of "OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1) for
/// linux-amd64 JRE (…)". The VM of JDK 8 has a version of its own; logs have that of the JRE, and
/// one JVM must have one version.
fn version_of(text: &str) -> &str {
    let within = |mark| Some(text.split_once(mark)?.1.split_once(')')?.0);
    let of_8 = within(" JRE (").filter(|version| version.starts_with("1.8."));
    of_8.or_else(|| within(" VM (")).unwrap_or(text)
}

/// The feature release: 17 of "17.0.15+6", 8 of "1.8.0_442-b06" and "25.442-b06" (JDK 8 numbers its
/// VM separately).
fn feature_of(version: &str) -> Option<u32> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse::<u32>().ok());
    match (numbers.next()??, numbers.next().flatten()) {
        (1, Some(feature)) => Some(feature),
        (25, Some(update)) if update > 40 => Some(8),
        (feature, _) => Some(feature),
    }
}

/// The main class, or the jar, of the java command line; arguments after it may be secrets.
fn main_of(args: &str) -> Option<String> {
    let main = args.split_whitespace().next()?;
    let main = main.rsplit('/').next().filter(|_| main.ends_with(".jar")).unwrap_or(main);
    Some(main.to_owned())
}

fn collector<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let young = reader.text(event.field(0)).unwrap_or_default();
    let old = reader.text(event.field(1)).unwrap_or_default();
    let collector = match (&*young, &*old) {
        ("G1New", _) | (_, "G1Old") => "G1",
        ("ParallelScavenge", _) => "Parallel",
        (_, "ConcurrentMarkSweep") => "CMS",
        ("DefNew", _) => "Serial",
        (young, old) if young.starts_with('Z') || old.starts_with('Z') => "Z",
        (young, old) if young.contains("Shenandoah") || old.contains("Shenandoah") => "Shenandoah",
        (young, old) if young.contains("Epsilon") || old.contains("Epsilon") => "Epsilon",
        _ => return None,
    };
    reader.writer.fact(fact::COLLECTOR, collector);
    // With ZGC, only the generational one has a young collector.
    if collector == "Z" && young.starts_with('Z') {
        reader.writer.fact(fact::GENERATIONAL, "1");
    }
    if let Some(workers) = event.integer(2).filter(|n| *n > 0) {
        reader.writer.fact(fact::GC_WORKERS, workers.to_string());
    }
    if let Some(workers) = event.integer(3).filter(|n| *n > 0) {
        reader.writer.fact(fact::GC_CONCURRENT_WORKERS, workers.to_string());
    }
    Some(())
}

fn heap<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    reader.writer.fact(fact::HEAP_MAX_BYTES, event.integer(0)?.to_string());
    reader.writer.fact(fact::HEAP_INITIAL_BYTES, event.integer(1)?.to_string());
    Some(())
}

fn code_cache<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    reader.writer.fact(fact::CODE_CACHE_BYTES, event.integer(0)?.to_string());
    Some(())
}

fn cpus<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    reader.writer.fact(fact::CPUS, event.integer(0)?.to_string());
    Some(())
}

/// The settings of a kind of event. The id is that of the kind in this chunk.
fn setting<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let kind = reader.names.kind_of_event(event.integer(0)?)?;
    let name = reader.text(event.field(1))?;
    let value = reader.text(event.field(2)).unwrap_or_default();
    reader.writer.set(&kind, &name, &value);
    Some(())
}

fn flag<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let name = reader.text(event.field(0))?;
    let on = event.is(1);
    match &*name {
        "AlwaysPreTouch" => reader.writer.fact(fact::PRETOUCH, if on { "enabled" } else { "disabled" }),
        "ZGenerational" if on => reader.writer.fact(fact::GENERATIONAL, "1"),
        _ => {}
    }
    Some(())
}

fn system<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let text = reader.text(event.field(0))?;
    let pretty = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let line = pretty.or_else(|| text.lines().next())?.trim_matches('"').to_owned();
    reader.writer.fact(fact::OS, line);
    Some(())
}

fn swap<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    reader.writer.fact(fact::SWAP_TOTAL_BYTES, event.integer(0)?.to_string());
    reader.writer.fact(fact::SWAP_FREE_BYTES, event.integer(1)?.to_string());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_every_writer_are_read() {
        let jdk =
            "OpenJDK 64-Bit Server VM (25.0.3+9-LTS) for linux-amd64 JRE (25.0.3+9-LTS), built on 2026-04-21";
        assert_eq!(version_of(jdk), "25.0.3+9-LTS");
        assert_eq!(feature_of(version_of(jdk)), Some(25));
        let of_8 =
            "OpenJDK 64-Bit Server VM (25.442-b06) for linux-amd64 JRE (1.8.0_442-b06), built on Jan 20 2025";
        assert_eq!(version_of(of_8), "1.8.0_442-b06");
        assert_eq!(feature_of("17.0.15+6-Debian-1deb12u1"), Some(17));
        assert_eq!(feature_of("25.442-b06"), Some(8));
        assert_eq!(feature_of("1.8.0_442"), Some(8));
        assert_eq!(feature_of("strange"), None);
    }

    #[test]
    fn the_main_class_is_named_and_its_arguments_are_not() {
        assert_eq!(main_of("org.acme.Main --password=x").as_deref(), Some("org.acme.Main"));
        assert_eq!(main_of("/srv/app.jar x").as_deref(), Some("app.jar"));
        assert_eq!(main_of(""), None);
    }
}
