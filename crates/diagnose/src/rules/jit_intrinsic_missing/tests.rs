use crate::Confidence;
use crate::facts::remedies;
use std::path::{Path, PathBuf};
use std::process::Command;

use FrameType::{C1, C2, Inlined, Interpreted, Jvm, Stub};

use super::*;
use crate::built::{Built, judged};

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
    assert_eq!(finding.named(), "-XX:-UseMontgomeryMultiplyIntrinsic");
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
    new.remedies[0].change.states(&remedies::SEE_FLAG, &[("value", "UseMD5Intrinsics")]);
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
fn where_the_intrinsic_itself_is_seen_it_is_not_missing() {
    let mut built = run(60, "java.math.BigInteger.implMultiplyToLen", C2, None);
    let frames = [("multiplyToLen", Stub), ("java.math.BigInteger.multiply", C2), ("shop.Sign.sign", C2)];
    built.on_cpu("worker", &frames, 9.99, 10.0);
    let used = judged(&JitIntrinsicMissing, &built.sealed());
    assert!(matches!(used, Judgement::RuledOut { .. }), "{used:?}");
    // The stub of another one says nothing of it, nor does C2 at work.
    let mut other = run(60, MULTIPLY, C2, None);
    other.on_cpu("C2 CompilerThread0", &[("LibraryCallKit::inline_montgomeryMultiply", Jvm)], 9.99, 10.0);
    other.on_cpu("worker", &frames, 9.99, 10.0);
    assert_eq!(found(other).fact(&compile::NO_INTRINSIC).detail("methods").unwrap().parts().len(), 1);
}

#[test]
fn what_the_interpreter_or_c1_calls_is_no_code_in_which_c2_would_have_put_it() {
    for caller in [Interpreted, C1] {
        let mut built = Built::jvm("17", "G1", 10.0);
        for i in 0..100 {
            built.on_cpu("worker", &[(MULTIPLY, C2), ("shop.Sign.sign", caller)], f64::from(i) / 10.0, 60.0);
        }
        let judged = judged(&JitIntrinsicMissing, &built.sealed());
        assert!(matches!(judged, Judgement::RuledOut { .. }), "{caller:?}: {judged:?}");
    }
}

#[test]
fn without_samples_it_is_inconclusive() {
    let judged = judged(&JitIntrinsicMissing, &Built::jvm("17", "G1", 10.0).sealed());
    assert!(matches!(judged, Judgement::Inconclusive(_)), "{judged:?}");
}

/// The JDKs of this machine that have a `javap`: release and home.
fn jdks() -> Vec<(u32, PathBuf)> {
    let mut homes: Vec<PathBuf> = std::env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().collect();
    homes.extend(std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten().map(|entry| entry.path()));
    let release = |home: &PathBuf| -> Option<u32> {
        let text = std::fs::read_to_string(home.join("release")).ok()?;
        let version = text.split("JAVA_VERSION=\"").nth(1)?;
        version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let modern =
        homes.into_iter().filter_map(|home| Some((release(&home).filter(|release| *release >= 9)?, home)));
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
        // that the annotations by name, which are in the table of constants of the class as
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
