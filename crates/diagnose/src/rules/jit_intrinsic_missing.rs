//! `jit-intrinsic-missing`: a method runs as compiled Java for which HotSpot has code of its own.

use std::collections::{BTreeSet, HashSet};

use fathom_recording::vocabulary::{fact, sample};
use fathom_recording::{FrameId, FrameType, ProcessId, Recording};

use super::cpu_case::{Cpu, Seen, unseen};
use super::gc_case::summed;
use crate::confidence::Ground;
use crate::facts::{
    Metric, Value, checks, compile, culprits, meanings, reasons, remedies, ruled_out, titles,
};
use crate::places::short;
use crate::{Case, Fact, Finding, Judgement, Layer, Remedy, Rule};

/// Methods and callers that are named.
const NAMED: usize = 3;

/// A method that C2 replaces by code of its own.
struct Intrinsic {
    method: &'static str,
    /// The flag of the JVM that shows whether it does: on where JDK and CPU have what it
    /// takes.
    flag: &'static str,
    /// The first release that does so on x86-64.
    since: u32,
    /// Parts of the names of the stubs, or of the JVM's functions, that take its place.
    code: &'static [&'static str],
}

const fn intrinsic(
    method: &'static str,
    flag: &'static str,
    since: u32,
    code: &'static [&'static str],
) -> Intrinsic {
    Intrinsic { method, flag, since, code }
}

/// Those that take long enough for the difference to be felt (classfile/vmIntrinsics.hpp; the
/// flags: `disabled_by_jvm_flags` in vmIntrinsics.cpp; releases: the changes that brought them; the
/// stubs: stubGenerator_x86_64.cpp and, since JDK 25, stubDeclarations.hpp).
/// Not those whose Java code runs for a reason of its own: the modes of ciphers, which are replaced
/// for AES only.
const INTRINSICS: &[Intrinsic] = &[
    intrinsic(
        "java.math.BigInteger.implMontgomeryMultiply",
        "UseMontgomeryMultiplyIntrinsic",
        9,
        &["montgomeryMultiply", "montgomery_multiply"],
    ),
    intrinsic(
        "java.math.BigInteger.implMontgomerySquare",
        "UseMontgomerySquareIntrinsic",
        9,
        &["montgomerySquare", "montgomery_square"],
    ),
    intrinsic("java.math.BigInteger.implMultiplyToLen", "UseMultiplyToLenIntrinsic", 9, &["multiplyToLen"]),
    intrinsic("java.math.BigInteger.implSquareToLen", "UseSquareToLenIntrinsic", 9, &["squareToLen"]),
    intrinsic("java.math.BigInteger.implMulAdd", "UseMulAddIntrinsic", 9, &["mulAdd"]),
    intrinsic(
        "com.sun.crypto.provider.AESCrypt.implEncryptBlock",
        "UseAESIntrinsics",
        9,
        &["aescrypt_encryptBlock"],
    ),
    intrinsic(
        "com.sun.crypto.provider.AESCrypt.implDecryptBlock",
        "UseAESIntrinsics",
        9,
        &["aescrypt_decryptBlock"],
    ),
    intrinsic(
        "com.sun.crypto.provider.GHASH.processBlocks",
        "UseGHASHIntrinsics",
        9,
        &["ghash_processBlocks"],
    ),
    intrinsic(
        "com.sun.crypto.provider.ChaCha20Cipher.implChaCha20Block",
        "UseChaCha20Intrinsics",
        20,
        &["chacha20Block"],
    ),
    intrinsic("sun.security.provider.MD5.implCompress0", "UseMD5Intrinsics", 16, &["md5_implCompress"]),
    intrinsic("sun.security.provider.SHA.implCompress0", "UseSHA1Intrinsics", 9, &["sha1_implCompress"]),
    intrinsic("sun.security.provider.SHA2.implCompress0", "UseSHA256Intrinsics", 9, &["sha256_implCompress"]),
    intrinsic("sun.security.provider.SHA5.implCompress0", "UseSHA512Intrinsics", 9, &["sha512_implCompress"]),
    intrinsic("java.util.zip.CRC32C.updateBytes", "UseCRC32CIntrinsics", 9, &["updateBytesCRC32C"]),
    intrinsic(
        "java.util.Base64$Encoder.encodeBlock",
        "UseBASE64Intrinsics",
        11,
        &["implEncode", "base64_encodeBlock"],
    ),
    intrinsic(
        "java.util.Base64$Decoder.decodeBlock",
        "UseBASE64Intrinsics",
        16,
        &["implDecode", "base64_decodeBlock"],
    ),
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
         arithmetic of large numbers, ciphers, digests, checksums. Which ones depends on the JDK, the CPU and flags; where \
         one is missing the same call takes several times as long (`BigInteger.modPow` without those for Montgomery's \
         multiplication: 3 times, measured on JDK 17), and nothing says so.\n\n\
         **Evidence.** CPU samples in which such a method stands as a frame that C2 has compiled, called by one that C2 has compiled: \
         where the intrinsic is used there is no such frame, but a stub, or nothing at all. The flag, where it was switched off by hand.\n\n\
         **Confounders.** Interpreted code and C1's run the Java method in any case, and so does what they call, until C2 has compiled \
         the caller: they do not count. Where any sample of the JVM shows the intrinsic's own code, it is there, and all else is warm-up. A cipher's mode that is replaced for AES only runs as Java with any other cipher, and is not \
         looked for. That there is much to compute at all is no missing intrinsic.\n\n\
         **Ruled out** by the CPU time found in such methods."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::CpuSamples]
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        let used = used(case.recording, jvm);
        let Some(cpu) = Cpu::of(case, jvm, |frames| replaced(frames, &used)) else {
            return unseen(self, case);
        };
        let methods = used.iter().map(|method| ruled_out::METHOD.is(Value::name(short(method))));
        let used = (!used.is_empty()).then(|| Value::list(methods));
        let what = ruled_out::WITHOUT_INTRINSICS.fact().with("used", used);
        let cost_ms = match cpu.worth(what, |_| true) {
            Ok(cost_ms) => cost_ms,
            Err(ruled_out) => return ruled_out,
        };
        Judgement::Found(Box::new(found(self, &cpu, jvm, cost_ms)))
    }
}

/// The outermost method of a stack that C2 would have replaced, had it been able to, in the code of
/// its caller: without those of which the intrinsic is `used`.
fn replaced<'a>(frames: &[Seen<'a>], used: &BTreeSet<&str>) -> Option<&'a str> {
    let is_one = |pair: &&[Seen<'a>]| {
        let [frame, caller] = *pair else { return false };
        let by_c2 = frame.by == FrameType::C2 && caller.by == FrameType::C2;
        by_c2 && intrinsic_of(frame.name).is_some() && !used.contains(frame.name)
    };
    frames.windows(2).rev().find(is_one).map(|pair| pair[0].name)
}

/// Methods of which the intrinsic itself was seen to run in a JVM, at any time: flags and CPU
/// do not change.
fn used(recording: &Recording, jvm: ProcessId) -> BTreeSet<&'static str> {
    let Some(kind) = recording.strings.find(sample::CPU) else { return BTreeSet::new() };
    let own = recording.samples.iter().filter(|s| s.kind == kind && s.process == jvm);
    let leaves: HashSet<FrameId> =
        own.filter_map(|s| Some(recording.frames_of(s.stack).next()?.id())).collect();
    leaves
        .into_iter()
        .filter_map(|frame| recording.frames.get(frame.index()))
        .flat_map(|frame| {
            let (name, by) = (recording.strings.get(frame.name), frame.frame_type);
            // C2's own functions are called after the intrinsics that they compile.
            let function = name.split('(').next().and_then(|name| name.rsplit("::").next());
            let is_code = move |code: &&str| match by {
                FrameType::Stub => name.contains(code),
                FrameType::Jvm => function == Some(*code),
                _ => false,
            };
            INTRINSICS.iter().filter(move |one| one.code.iter().any(&is_code))
        })
        .map(|one| one.method)
        .collect()
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

    /// On what ground it stands, and why.
    fn ground(&self) -> (Ground, &'static Metric) {
        match self {
            Self::SwitchedOff(_) => (Ground::Incomplete, &reasons::INTRINSIC_OFF),
            Self::JdkIsOlder => (Ground::Incomplete, &reasons::INTRINSIC_LATER),
            Self::NotSeen => (Ground::Fits, &reasons::INTRINSIC_UNSEEN),
        }
    }

    fn culprit(&self, method: &str) -> Fact {
        match self {
            Self::SwitchedOff(flags) => culprits::FLAG.is(Value::name(arguments(flags))),
            Self::JdkIsOlder | Self::NotSeen => culprits::NO_INTRINSIC.is(Value::name(method)),
        }
    }

    fn meaning(&self, most: &Intrinsic) -> Fact {
        let here = match self {
            Self::SwitchedOff(_) => meanings::SWITCHED_OFF.fact(),
            Self::JdkIsOlder => meanings::IN_LATER_JDK.is(Value::plain(f64::from(most.since))),
            Self::NotSeen => meanings::NOT_SEEN.fact(),
        };
        meanings::INTRINSIC.is(Value::name(short(most.method))).with("here", Value::from(here))
    }

    fn remedies(&self, most: &Intrinsic) -> Vec<Remedy> {
        match self {
            Self::SwitchedOff(flags) => {
                vec![remedies::LEAVE_OUT_IF_FIXED.is(Value::name(arguments(flags))).into()]
            }
            Self::JdkIsOlder => {
                vec![remedies::LATER_JDK.is(Value::plain(f64::from(most.since))).into()]
            }
            Self::NotSeen => vec![
                remedies::SEE_FLAG.is(Value::name(most.flag)).into(),
                remedies::CPU_WITH_INSTRUCTIONS.remedy(),
            ],
        }
    }
}

fn found(rule: &dyn Rule, cpu: &Cpu<'_, '_>, jvm: ProcessId, cost_ms: f64) -> Finding {
    let methods = cpu.by();
    let most = methods.first().and_then(|(method, _)| intrinsic_of(method)).unwrap_or(&INTRINSICS[0]);
    let why = Why::of(cpu.case, jvm, &methods, most);
    let (ground, because) = why.ground();
    let mut finding = cpu.case.finding(rule, jvm, ground.because(cpu.case, cost_ms, because), cost_ms);
    let method = short(most.method);
    let title = titles::INTRINSIC_MISSING.is(Value::share(cpu.share(|_| true)));
    finding.title = title.with("method", Value::name(method)).into();
    finding.culprit = why.culprit(method).into();
    finding.meaning = why.meaning(most).into();
    finding.windows = cpu.case.slow.clone();
    let list = |list: &[(&str, f64)], value: fn(f64) -> Value| {
        let one = |(name, number): &(&str, f64)| {
            compile::IN_METHOD.is(value(*number)).with("method", Value::name(*name))
        };
        Value::list(list.iter().take(NAMED).map(one))
    };
    let times = compile::NO_INTRINSIC.fact().with("methods", list(&methods, Value::ms));
    finding.evidence.push(summed(cpu.source(), times));
    if let Why::SwitchedOff(flags) = &why {
        let off = compile::SWITCHED_OFF.is(Value::name(arguments(flags)));
        finding.evidence.push(summed("the JVM's arguments", off));
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
        checks::NO_FRAME_OF_ITS_OWN.is(Value::name(method)).into(),
        checks::BENCHMARK_OF_CALL.fact().into(),
    ];
    finding
}

/// "-XX:-UseMontgomeryMultiplyIntrinsic".
fn arguments(flags: &[&str]) -> String {
    flags.iter().map(|flag| format!("-XX:-{flag}")).collect::<Vec<_>>().join(" ")
}

fn intrinsic_of(method: &str) -> Option<&'static Intrinsic> {
    INTRINSICS.iter().find(|intrinsic| intrinsic.method == method)
}

#[cfg(test)]
mod tests;
