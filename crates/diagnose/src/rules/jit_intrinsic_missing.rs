//! `jit-intrinsic-missing`: a method runs as compiled Java for which HotSpot has code of its own.

use fathom_recording::vocabulary::fact;
use fathom_recording::{FrameType, ProcessId};

use super::cpu_case::{Cpu, Seen, unseen};
use super::gc_case::{remedy, summed};
use crate::facts::{Value, compile};
use crate::{Case, Confidence, Finding, Judgement, Layer, Remedy, Rule, quantity};

/// Methods and callers that are named.
const NAMED: usize = 3;

/// A method that C2 replaces by code of its own.
struct Intrinsic {
    method: &'static str,
    /// The flag of the JVM that shows whether it does: on where JDK and processor have what it
    /// takes.
    flag: &'static str,
    /// The first release that does so on x86-64.
    since: u32,
}

const fn intrinsic(method: &'static str, flag: &'static str, since: u32) -> Intrinsic {
    Intrinsic { method, flag, since }
}

/// Those that take long enough for the difference to be felt (classfile/vmIntrinsics.hpp; the
/// flags: `disabled_by_jvm_flags` in vmIntrinsics.cpp; releases: the changes that brought them).
/// Not those whose Java code runs for a reason of its own: the modes of ciphers, which are replaced
/// for AES only.
const INTRINSICS: &[Intrinsic] = &[
    intrinsic("java.math.BigInteger.implMontgomeryMultiply", "UseMontgomeryMultiplyIntrinsic", 9),
    intrinsic("java.math.BigInteger.implMontgomerySquare", "UseMontgomerySquareIntrinsic", 9),
    intrinsic("java.math.BigInteger.implMultiplyToLen", "UseMultiplyToLenIntrinsic", 9),
    intrinsic("java.math.BigInteger.implSquareToLen", "UseSquareToLenIntrinsic", 9),
    intrinsic("java.math.BigInteger.implMulAdd", "UseMulAddIntrinsic", 9),
    intrinsic("com.sun.crypto.provider.AESCrypt.implEncryptBlock", "UseAESIntrinsics", 9),
    intrinsic("com.sun.crypto.provider.AESCrypt.implDecryptBlock", "UseAESIntrinsics", 9),
    intrinsic("com.sun.crypto.provider.GHASH.processBlocks", "UseGHASHIntrinsics", 9),
    intrinsic("com.sun.crypto.provider.ChaCha20Cipher.implChaCha20Block", "UseChaCha20Intrinsics", 20),
    intrinsic("sun.security.provider.MD5.implCompress0", "UseMD5Intrinsics", 16),
    intrinsic("sun.security.provider.SHA.implCompress0", "UseSHA1Intrinsics", 9),
    intrinsic("sun.security.provider.SHA2.implCompress0", "UseSHA256Intrinsics", 9),
    intrinsic("sun.security.provider.SHA5.implCompress0", "UseSHA512Intrinsics", 9),
    intrinsic("java.util.zip.CRC32C.updateBytes", "UseCRC32CIntrinsics", 9),
    intrinsic("java.util.Base64$Encoder.encodeBlock", "UseBASE64Intrinsics", 11),
    intrinsic("java.util.Base64$Decoder.decodeBlock", "UseBASE64Intrinsics", 16),
];

/// The rule.
pub struct JitIntrinsicMissing;

impl Rule for JitIntrinsicMissing {
    fn id(&self) -> &'static str {
        "jit-intrinsic-missing"
    }

    fn layer(&self) -> Layer {
        Layer::Jit
    }

    fn about(&self) -> &'static str {
        "HotSpot replaces methods of the JDK by code of its own, often with instructions that Java does not know: \
         arithmetic of large numbers, ciphers, digests, checksums. Which ones depends on the JDK, the processor and flags; where \
         one is missing the same call takes several times as long (`BigInteger.modPow` without those for Montgomery's \
         multiplication: 3 times, measured on JDK 17), and nothing says so.\n\n\
         **Evidence.** CPU samples in which such a method stands as a frame that C2 has compiled: where the intrinsic is used \
         there is no such frame, but a stub, or nothing at all. The flag, where it was switched off by hand.\n\n\
         **Look-alikes.** Interpreted code and C1's run the Java method in any case, until C2 has compiled the caller, and \
         do not count. A cipher's mode that is replaced for AES only runs as Java with any other cipher, and is not \
         looked for. That there is much to compute at all is no missing intrinsic.\n\n\
         **Ruled out** by the CPU time found in such methods."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::CpuSamples]
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        let Some(cpu) = Cpu::of(case, jvm, |frames| replaced(frames)) else { return unseen(self) };
        let what = "compiled Java of methods that C2 has intrinsics for";
        let cost_ms = match cpu.worth(what, |_| true) {
            Ok(cost_ms) => cost_ms,
            Err(ruled_out) => return ruled_out,
        };
        Judgement::Found(Box::new(found(self, &cpu, jvm, cost_ms)))
    }
}

/// The outermost method of a stack that C2 would have replaced, had it been able to.
fn replaced<'a>(frames: &[Seen<'a>]) -> Option<&'a str> {
    let is_one = |frame: &&Seen<'a>| frame.by == FrameType::C2 && intrinsic_of(frame.name).is_some();
    frames.iter().rev().find(is_one).map(|frame| frame.name)
}

/// Why the Java method runs.
enum Why {
    /// By flags of the JVM's arguments.
    SwitchedOff(Vec<&'static str>),
    /// The JDK has no intrinsic for it yet.
    JdkIsOlder,
    /// Nothing shows why.
    NotSeen,
}

impl Why {
    fn of(case: &Case<'_>, jvm: ProcessId, methods: &[(&str, f64)], most: &Intrinsic) -> Self {
        let process = case.recording.processes.get(jvm.index());
        let fact = |key: &str| process.and_then(|p| p.fact(key)).unwrap_or_default();
        let is_off = |intrinsic: &&Intrinsic| {
            let word = format!("-XX:-{}", intrinsic.flag);
            fact(fact::JVM_ARGS).split_whitespace().any(|arg| arg == word)
        };
        let known = methods.iter().filter_map(|(method, _)| intrinsic_of(method));
        let mut flags: Vec<&str> = known.filter(is_off).map(|intrinsic| intrinsic.flag).collect();
        flags.sort_unstable();
        flags.dedup();
        if !flags.is_empty() {
            return Self::SwitchedOff(flags);
        }
        let release: Option<u32> = fact(fact::JDK).parse().ok();
        if release.is_some_and(|release| release < most.since) { Self::JdkIsOlder } else { Self::NotSeen }
    }

    fn confidence(&self) -> (Confidence, &'static str) {
        match self {
            Self::SwitchedOff(_) => (
                Confidence::Likely,
                "the method runs as Java, and the flag that does so was given; how much faster it would be was not measured",
            ),
            Self::JdkIsOlder => (
                Confidence::Likely,
                "the method runs as Java, and this JDK has no intrinsic for it; how much faster it would be was not measured",
            ),
            Self::NotSeen => (
                Confidence::ConsistentWith,
                "the method runs as Java; whether this processor has what the intrinsic takes was not seen",
            ),
        }
    }

    fn culprit(&self, method: &str) -> String {
        match self {
            Self::SwitchedOff(flags) => {
                flags.iter().map(|flag| format!("-XX:-{flag}")).collect::<Vec<_>>().join(" ")
            }
            Self::JdkIsOlder | Self::NotSeen => format!("no intrinsic for {method}"),
        }
    }

    fn meaning(&self, most: &Intrinsic) -> String {
        let here = match self {
            Self::SwitchedOff(_) => "Here that was switched off by hand".to_owned(),
            Self::JdkIsOlder => format!("JDK {} and later have it", most.since),
            Self::NotSeen => {
                "Here it does not: the flag is off, or JDK or processor have not what it takes".to_owned()
            }
        };
        format!(
            "HotSpot has machine code of its own for {} and puts it in the place of the Java method, which takes several times as \
             long. {here}. What is charged is all of the time in it; less than that can be had back.",
            short(most.method)
        )
    }

    fn remedies(&self, most: &Intrinsic) -> Vec<Remedy> {
        match self {
            Self::SwitchedOff(_) => vec![remedy(
                format!("leave out {}", self.culprit("")),
                "the JVM's arguments",
                "if it was given because of a bug, that must be mended in this JDK first",
            )],
            Self::JdkIsOlder => {
                vec![remedy(format!("a JDK from {} on", most.since), "the host or the image", "an update")]
            }
            Self::NotSeen => vec![
                remedy(
                    format!(
                        "see whether it is on: java -XX:+UnlockDiagnosticVMOptions -XX:+PrintFlagsFinal -version | grep {}",
                        most.flag
                    ),
                    "this JDK on this host",
                    "none",
                ),
                remedy(
                    "a processor, or a model of one for the virtual machine, with the instructions it takes (/proc/cpuinfo)",
                    "the host",
                    "a move",
                ),
            ],
        }
    }
}

fn found(rule: &dyn Rule, cpu: &Cpu<'_, '_>, jvm: ProcessId, cost_ms: f64) -> Finding {
    let methods = cpu.by();
    let most = methods.first().and_then(|(method, _)| intrinsic_of(method)).unwrap_or(&INTRINSICS[0]);
    let why = Why::of(cpu.case, jvm, &methods, most);
    let (confidence, because) = why.confidence();
    let mut finding = cpu.case.finding(rule, jvm, confidence, cost_ms);
    finding.why_confidence = because.into();
    let method = short(most.method);
    let share = quantity::share(cpu.share(|_| true));
    finding.title = format!("{method} ran as Java code, not as the JVM's intrinsic: {share} of CPU time");
    finding.culprit = why.culprit(method);
    finding.meaning = why.meaning(most);
    finding.windows = cpu.case.slow.clone();
    let list = |list: &[(&str, f64)], value: fn(f64) -> Value| {
        let one = |(name, number): &(&str, f64)| {
            compile::IN_METHOD.is(value(*number)).with("method", Value::name(*name))
        };
        Value::list(list.iter().take(NAMED).map(one))
    };
    let times = compile::NO_INTRINSIC.fact().with("methods", list(&methods, Value::ms));
    finding.evidence.push(summed(cpu.source(), times));
    if matches!(why, Why::SwitchedOff(_)) {
        finding
            .evidence
            .push(summed("the JVM's arguments", compile::SWITCHED_OFF.is(Value::name(why.culprit(method)))));
    }
    if matches!(why, Why::JdkIsOlder) {
        let process = cpu.case.recording.processes.get(jvm.index());
        let release = process.and_then(|p| p.fact(fact::JDK)).unwrap_or_default();
        let since = compile::SINCE.is(Value::plain(f64::from(most.since)));
        let since = since.with("method", Value::name(method)).with("jdk", Value::name(release));
        finding.evidence.push(summed("the JVM's release", since));
    }
    let callers = cpu.callers(|_| true);
    if !callers.is_empty() {
        let callers = compile::CALLED_BY.fact().with("callers", list(&callers, Value::share));
        finding.evidence.push(summed(cpu.source(), callers));
    }
    finding.remedies = why.remedies(most);
    finding.verify = vec![
        format!("fathom record again: {method} is no frame of C2's any more (fathom flame --top)"),
        "a benchmark of the call alone (JMH), with the flag on and off on one JDK".into(),
    ];
    finding
}

fn intrinsic_of(method: &str) -> Option<&'static Intrinsic> {
    INTRINSICS.iter().find(|intrinsic| intrinsic.method == method)
}

/// "BigInteger.implMulAdd" of "java.math.BigInteger.implMulAdd".
fn short(method: &str) -> &str {
    let class = method.rmatch_indices('.').nth(1).map_or(0, |(at, _)| at + 1);
    &method[class..]
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use FrameType::{C1, C2, Inlined, Interpreted, Stub};

    use super::*;
    use crate::built::{Built, judged, names};

    const MULTIPLY: &str = "java.math.BigInteger.implMontgomeryMultiply";

    /// Ten seconds of a thread, of which so many percent are in a method of a kind.
    fn run(percent: u32, method: &str, by: FrameType, leaf: Option<(&str, FrameType)>) -> Built {
        let mut built = Built::jvm("17", "G1", 10.0);
        for i in 0..100 {
            let app = ("shop.Sign.sign", C2);
            let mut frames = vec![app];
            if i < percent {
                frames.insert(0, (method, by));
                leaf.iter().for_each(|leaf| frames.insert(0, *leaf));
            }
            built.on_cpu("worker", &frames, f64::from(i) / 10.0, 100.0);
        }
        built
    }

    fn found(built: Built) -> Box<Finding> {
        match judged(&JitIntrinsicMissing, &built.sealed()) {
            Judgement::Found(finding) => finding,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn java_code_of_a_method_that_has_an_intrinsic_is_found_with_the_flag_that_made_it_so() {
        let mut built = run(60, MULTIPLY, Inlined, Some(("java.math.BigInteger.montReduce", Inlined)));
        built.fact(fact::JVM_ARGS, "-Xmx1g -XX:-UseMontgomeryMultiplyIntrinsic");
        let finding = found(built);
        assert_eq!(finding.confidence, Confidence::Likely);
        assert_eq!(finding.culprit, "-XX:-UseMontgomeryMultiplyIntrinsic");
        let named = |metric, list| finding.fact(metric).detail(list).unwrap().parts()[0].name("method");
        assert_eq!(named(&compile::NO_INTRINSIC, "methods"), Some(MULTIPLY));
        assert!((finding.cost_ms - 6000.0).abs() < 1.0, "{}", finding.cost_ms);
        assert_eq!(named(&compile::CALLED_BY, "callers"), Some("shop.Sign.sign"));
    }

    #[test]
    fn a_jdk_that_has_none_yet_is_distinguished_from_one_where_it_did_not_work() {
        let digest = "sun.security.provider.MD5.implCompress0";
        let mut old = run(60, digest, C2, None);
        old.fact(fact::JDK, "11");
        let old = found(old);
        assert_eq!(old.fact(&compile::SINCE).number("value"), Some(16.0));
        let new = found(run(60, digest, C2, None));
        assert_eq!(new.confidence, Confidence::ConsistentWith);
        assert_eq!(new.facts(&compile::SINCE).count(), 0);
        assert!(names(&new.remedies[0], "UseMD5Intrinsics"), "{:?}", new.remedies);
    }

    #[test]
    fn stubs_and_code_that_is_not_yet_compiled_by_c2_rule_it_out() {
        let stub = ("montgomeryMultiply", Stub);
        for (method, by) in [(stub.0, stub.1), (MULTIPLY, C1), (MULTIPLY, Interpreted)] {
            let judged = judged(&JitIntrinsicMissing, &run(60, method, by, None).sealed());
            assert!(matches!(judged, Judgement::RuledOut { .. }), "{judged:?}");
        }
        let few = judged(&JitIntrinsicMissing, &run(3, MULTIPLY, C2, None).sealed());
        assert!(matches!(few, Judgement::RuledOut { .. }), "{few:?}");
    }

    #[test]
    fn without_samples_it_is_inconclusive() {
        let judged = judged(&JitIntrinsicMissing, &Built::jvm("17", "G1", 10.0).sealed());
        assert!(matches!(judged, Judgement::Inconclusive(_)), "{judged:?}");
    }

    /// The JDKs of this machine that have a `javap`: release and home.
    fn jdks() -> Vec<(u32, PathBuf)> {
        let mut homes: Vec<PathBuf> = std::env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().collect();
        homes.extend(
            std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten().map(|entry| entry.path()),
        );
        let release = |home: &PathBuf| -> Option<u32> {
            let text = std::fs::read_to_string(home.join("release")).ok()?;
            let version = text.split("JAVA_VERSION=\"").nth(1)?;
            version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        };
        let modern = homes
            .into_iter()
            .filter_map(|home| Some((release(&home).filter(|release| *release >= 9)?, home)));
        let mut jdks: Vec<_> = modern.filter(|(_, home)| home.join("bin/javap").exists()).collect();
        jdks.sort();
        jdks.dedup_by_key(|(release, _)| *release);
        jdks
    }

    /// The methods that a JDK marks for HotSpot to replace, of some classes.
    fn marked(home: &Path, classes: &[&str]) -> HashSet<String> {
        let output = Command::new(home.join("bin/javap")).args(["-p", "-v"]).args(classes).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let (mut marked, mut class, mut method) = (HashSet::new(), "", String::new());
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            // "Classfile jrt:/java.base/java/math/BigInteger.class", "  private static int[] implMulAdd(int[], …);", and below
            // that the annotations by name, which stand in the table of constants of the class as
            // well.
            if let Some(file) = line.strip_prefix("Classfile ") {
                let path = file.split("/java.base/").nth(1).and_then(|path| path.strip_suffix(".class"));
                let path = path.unwrap_or_else(|| panic!("{file}"));
                class = classes.iter().find(|known| known.replace('.', "/") == path).unwrap();
                method.clear();
            } else if line.starts_with("  ") && !line.starts_with("   ") && line.contains('(') {
                let words = line.split('(').next().unwrap_or_default();
                method = words.rsplit(' ').next().unwrap_or_default().to_owned();
            } else if !method.is_empty() && line.trim_end().ends_with("IntrinsicCandidate") {
                marked.insert(format!("{class}.{method}"));
            }
        }
        marked
    }

    #[test]
    fn every_method_of_the_list_is_one_that_the_jdk_marks_for_it() {
        let jdks = jdks();
        if jdks.is_empty() {
            fathom_testing::skip("no JDK with javap was found in JAVA_HOME or /usr/lib/jvm");
        }
        let mut classes: Vec<&str> =
            INTRINSICS.iter().map(|one| one.method.rsplit_once('.').unwrap().0).collect();
        classes.sort_unstable();
        classes.dedup();
        for (release, home) in jdks {
            let marked = marked(&home, &classes);
            for one in INTRINSICS.iter().filter(|one| one.since <= release) {
                assert!(marked.contains(one.method), "JDK {release} has no intrinsic {}", one.method);
            }
            assert!(
                !marked.contains("java.math.BigInteger.add"),
                "JDK {release}: it is seen that a method has none"
            );
        }
    }
}
