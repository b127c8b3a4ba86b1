//! A java command line, split into the JVM's options and what it runs.
//!
//! Source: the launcher's own help and `java.base/share/native/libjli/java.c`. The program's own
//! arguments may hold anything: only those are kept that distinguish the members of a cluster and
//! cannot be secrets.

use std::path::Path;

use fathom_recording::secrets::{masked_argument, program_arguments};

/// Longest command line read, bytes (`MAX_ARG_STRLEN` bounds one argument by 128 kB).
const LONGEST: u64 = 1 << 20;
/// Options of the launcher whose value is the next argument.
const WITH_VALUE: [&str; 15] = [
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--limit-modules",
    "--add-exports",
    "--add-opens",
    "--add-reads",
    "--patch-module",
    "--enable-native-access",
    "--illegal-native-access",
    "--source",
];

/// What a JVM was started with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// Main class, "module/class" or jar, as it was given.
    pub main: Option<String>,
    /// Options of the JVM, values of secrets masked. Without those of `JAVA_TOOL_OPTIONS` and of
    /// `@files`.
    pub options: Vec<String>,
    /// First arguments of the program itself, without what may be a secret.
    pub program: String,
}

impl CommandLine {
    /// Parses the arguments of a process. The launcher need not be the first: a loader (`ld.so …
    /// java`) may stand before it. For a program that is not `java` nothing is returned: its
    /// arguments are private.
    pub fn of(arguments: &[String]) -> Self {
        let mut parsed = Self::default();
        let Some(launcher) = arguments.iter().position(|argument| is_launcher(argument)) else {
            return parsed;
        };
        let mut arguments = arguments.iter().skip(launcher + 1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "-jar" | "-m" | "--module" => {
                    parsed.main = arguments.next().cloned();
                    break;
                }
                option if option.starts_with('-') || option.starts_with('@') => {
                    parsed.options.push(masked_argument(option));
                    if WITH_VALUE.contains(&option) {
                        parsed.options.extend(arguments.next().map(|value| masked_argument(value)));
                    }
                }
                main => {
                    parsed.main = Some(main.to_owned());
                    break;
                }
            }
        }
        parsed.program = program_arguments(arguments.map(String::as_str));
        parsed
    }
}

/// "/usr/bin/java", also as a package's wrapper may name it: "java.elf", "java.bin".
fn is_launcher(argument: &str) -> bool {
    !argument.starts_with('-') && short_main(argument).split('.').next() == Some("java")
}

/// The arguments of a process; empty when it is gone, or a thread of the kernel.
pub fn arguments(pid: u32) -> Vec<String> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let file = std::fs::File::open(format!("/proc/{pid}/cmdline"));
    let read = file.and_then(|file| file.take(LONGEST).read_to_end(&mut bytes));
    if read.is_err() || bytes.is_empty() {
        return Vec::new();
    }
    let text = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
    text.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}

/// A main class or jar as people call it: a jar without its folders, a class without its module.
pub fn short_main(main: &str) -> &str {
    Path::new(main).file_name().and_then(|name| name.to_str()).unwrap_or(main)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> CommandLine {
        CommandLine::of(&line.split('|').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_end_where_the_program_begins_and_its_own_secrets_are_not_kept() {
        let parsed = of("java|-Xmx1g|-cp|a.jar:b|-Dapi.key=x y|com.example.Main|--password=z|-Xint");
        assert_eq!(parsed.main.as_deref(), Some("com.example.Main"));
        assert_eq!(parsed.options, ["-Xmx1g", "-cp", "a.jar:b", "-Dapi.key=***"]);
        assert_eq!(parsed.program, "--password=*** -Xint");
        assert_eq!(of("java|-jar|/opt/a b/s.jar|x").main.as_deref(), Some("/opt/a b/s.jar"));
        assert_eq!(of("java|--add-opens|a/b=c|-m|m/a.B").main.as_deref(), Some("m/a.B"));
        assert_eq!(of("java|@args|-version").main, None);
        assert_eq!(of("/lib/ld-linux.so|--library-path|libc|/opt/java|Main").main.as_deref(), Some("Main"));
        assert_eq!(of("jshell|--token|x"), CommandLine::default());
        assert_eq!((short_main("/opt/a b/s.jar"), short_main("m/a.B")), ("s.jar", "a.B"));
    }

    #[test]
    fn this_process_has_arguments_and_the_kernels_threads_have_none() {
        assert!(!arguments(std::process::id()).is_empty());
        assert!(arguments(2).is_empty() || arguments(2).len() == 1);
    }
}
