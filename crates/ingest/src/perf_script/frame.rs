//! A frame of `perf script`:
//! `7f286c93872f void LockStorm.hotSection(long, int)+0x189 (/tmp/perf-32656.map)`.

use fathom_recording::FrameType;

use crate::java_names;

/// A frame, read.
#[derive(Debug, PartialEq)]
pub(super) struct Read<'a> {
    pub(super) name: String,
    pub(super) module: &'a str,
    pub(super) frame_type: FrameType,
    /// The process whose map of compiled code names it.
    pub(super) pid: Option<i64>,
}

/// Parses a frame. `None`: it is not one (a source line, which some request).
pub(super) fn parse(line: &str) -> Option<Read<'_>> {
    let text = line.trim();
    let text = match text.split_once(' ') {
        Some((address, rest)) if is_address(address) => rest.trim_start(),
        _ if is_address(text) => "",
        _ => text,
    };
    let (text, inlined) = match text.strip_suffix(" (inlined)") {
        Some(text) => (text, true),
        None => (text, false),
    };
    let (symbol, module) = match text.rsplit_once(" (").or_else(|| text.strip_prefix('(').map(|t| ("", t))) {
        Some((symbol, module)) => (symbol.trim(), module.strip_suffix(')')?),
        None if inlined || text.is_empty() => (text, ""),
        // Without a library it is a line of source: "Mixed.java:12", or damage.
        None => return None,
    };
    let symbol = without_offset(symbol);
    let file = module.rsplit('/').next().unwrap_or(module);
    let pid = file.strip_prefix("perf-").and_then(|f| f.strip_suffix(".map")?.parse().ok());
    if symbol.is_empty() || symbol == "[unknown]" {
        return Some(Read { name: "[unknown]".to_owned(), module: file, frame_type: unknown(file), pid });
    }
    if file.starts_with("[kernel") || file.starts_with("[guest.kernel") || file == "vmlinux" {
        return Some(Read { name: symbol.to_owned(), module: "kernel", frame_type: FrameType::Kernel, pid });
    }
    let compiled =
        pid.is_some() || file.starts_with("jitted-") || (file.starts_with("perf-") && file.ends_with(".map"));
    if compiled {
        let (name, frame_type) = java(symbol, inlined);
        return Some(Read { name, module: "", frame_type, pid });
    }
    let frame_type = match file {
        "libjvm.so" => FrameType::Jvm,
        "[vdso]" | "[vsyscall]" => FrameType::Native,
        // A kernel module is in brackets.
        _ if file.starts_with('[') && file != "[unknown]" && file != "[heap]" => FrameType::Kernel,
        _ => FrameType::Native,
    };
    Some(Read { name: java_names::native(symbol).into_owned(), module: file, frame_type, pid })
}

fn unknown(file: &str) -> FrameType {
    if file.starts_with("[kernel") { FrameType::Kernel } else { FrameType::Unknown }
}

/// perf prints addresses in hexadecimal, of at least some digits or padded with blanks.
fn is_address(word: &str) -> bool {
    !word.is_empty() && word.len() <= 16 && word.bytes().all(|b| b.is_ascii_hexdigit())
}

fn without_offset(symbol: &str) -> &str {
    match symbol.rsplit_once("+0x") {
        Some((name, offset)) if !offset.is_empty() && offset.bytes().all(|b| b.is_ascii_hexdigit()) => name,
        _ => symbol,
    }
}

/// A name from the code cache's map: the JDK's own (`jcmd Compiler.perfmap`), perf-map-agent's, or
/// a stub's.
fn java(symbol: &str, inlined: bool) -> (String, FrameType) {
    if symbol == "Interpreter" || symbol.starts_with("Interpreter ") {
        return ("Interpreter".to_owned(), FrameType::Interpreted);
    }
    let compiled = if inlined { FrameType::Inlined } else { FrameType::C2 };
    // "Ljava/lang/String;::hashCode"
    if let Some((class, method)) = symbol.split_once("::") {
        let class = class.strip_prefix('L').and_then(|c| c.strip_suffix(';')).unwrap_or(class);
        let method = method.split('(').next().unwrap_or(method);
        return (format!("{}.{method}", java_names::class(class)), compiled);
    }
    // "void LockStorm.hotSection(long, int)"
    if let Some((head, _)) = symbol.split_once('(')
        && let Some((_, name)) = head.rsplit_once(' ')
        && name.contains('.')
        && !head.starts_with("StubRoutines")
    {
        return (java_names::method(name).into_owned(), compiled);
    }
    (symbol.to_owned(), FrameType::Stub)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> (String, String, FrameType) {
        let read = parse(line).unwrap();
        (read.name, read.module.to_owned(), read.frame_type)
    }

    #[test]
    fn frames_of_every_layer() {
        let map = "/tmp/perf-32656.map";
        let java =
            parse("\t    7f459cf30b29 void LockStorm.hotSection(long, int)+0x189 (/tmp/perf-32656.map)")
                .unwrap();
        assert_eq!(
            (java.name.as_str(), java.frame_type, java.pid),
            ("LockStorm.hotSection", FrameType::C2, Some(32656))
        );
        assert_eq!(read(&format!("7f45 Interpreter+0x1 ({map})")).2, FrameType::Interpreted);
        assert_eq!(
            read(&format!("7f459c938cc9 StubRoutines (1)+0xc9 ({map})")),
            ("StubRoutines (1)".into(), String::new(), FrameType::Stub)
        );
        assert_eq!(
            read(&format!("7f45 Ljava/lang/String;::hashCode+0x1 ({map})")).0,
            "java.lang.String.hashCode"
        );
        let jvm = "  829952 JavaCalls::call_virtual+0x1a2 (/usr/lib/jvm/java-17/lib/server/libjvm.so)";
        assert_eq!(read(jvm), ("JavaCalls::call_virtual".into(), "libjvm.so".into(), FrameType::Jvm));
        assert_eq!(
            read("ffffffff815e505c do_fault+0x4fc ([kernel.kallsyms])"),
            ("do_fault".into(), "kernel".into(), FrameType::Kernel)
        );
        assert_eq!(
            read("ffffffffc0 ext4_write ([ext4])"),
            ("ext4_write".into(), "[ext4]".into(), FrameType::Kernel)
        );
        assert_eq!(read("7f12 [unknown] ([unknown])").2, FrameType::Unknown);
        assert_eq!(
            read("start_thread+0x305 (/lib/libc.so.6)"),
            ("start_thread".into(), "libc.so.6".into(), FrameType::Native)
        );
        for none in ["Mixed.java:12", "", "  file.c:1"] {
            assert!(parse(none).is_none_or(|r| r.name == "[unknown]"), "{none}");
        }
    }
}
