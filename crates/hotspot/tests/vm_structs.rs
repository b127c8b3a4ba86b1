//! The tables of live JVMs of every JDK of this machine.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod jvm;

use fathom_hotspot::layout::{
    CodeBlobLayout, CodeCacheLayout, CompilerLayout, FlagLayout, InterpreterLayout, MethodLayout,
    NmethodLayout, OopLayout, ThreadLayout,
};
use fathom_hotspot::{Error, Vm};
use jvm::Jvm;

#[test]
fn every_field_that_is_needed_is_found_in_every_jdk() {
    if !jvm::may_trace() {
        return;
    }
    for jdk in jvm::jdks() {
        let Some(jvm) = Jvm::start(&jdk, &[], &["Idle"]) else { return };
        let vm = Vm::open(jvm.pid()).unwrap();
        assert_eq!(vm.release.feature, jdk.release);
        CodeCacheLayout::of(vm.source()).unwrap();
        CodeBlobLayout::of(vm.source()).unwrap();
        NmethodLayout::of(vm.source()).unwrap();
        InterpreterLayout::of(vm.source()).unwrap();
        MethodLayout::of(vm.source()).unwrap();
        ThreadLayout::of(vm.source()).unwrap();
        CompilerLayout::of(vm.source()).unwrap();
        OopLayout::of(vm.source()).unwrap();
        FlagLayout::of(vm.source()).unwrap();
        let (fields, types, constants) = vm.structs.len();
        eprintln!("{}: {fields} fields, {types} types, {constants} constants", vm.release);
        assert!(fields > 400 && types > 300 && constants > 200);
        let version = jvm.jcmd(&["VM.version"]);
        assert!(version.is_none_or(|text| text.contains(&vm.release.version)), "{}", vm.release);
    }
}

#[test]
fn a_jvm_whose_library_was_deleted_or_replaced_is_read_all_the_same() {
    if !jvm::may_trace() {
        return;
    }
    let Some(jdk) = jvm::jdks().into_iter().find(|jdk| jdk.release >= 11) else { return };
    let home = jdk.java.canonicalize().unwrap();
    let home = home.parent().unwrap().parent().unwrap();
    // A JDK of our own: the launcher and the library are copies, all else is links.
    let folder = tempfile::tempdir().unwrap();
    let links = |from: &std::path::Path, to: &std::path::Path| {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap().flatten() {
            let (from, to) = (entry.path(), to.join(entry.file_name()));
            match entry.file_name().to_str().unwrap() {
                "bin" | "lib" | "server" => {}
                "java" | "libjli.so" | "libjvm.so" => drop(std::fs::copy(from, to).unwrap()),
                _ => std::os::unix::fs::symlink(from, to).unwrap(),
            }
        }
    };
    for part in ["", "bin", "lib", "lib/server"] {
        links(&home.join(part), &folder.path().join(part));
    }
    let copy = folder.path().join("lib/server/libjvm.so");
    let own = jvm::Jdk { release: jdk.release, java: folder.path().join("bin/java") };
    let Some(jvm) = Jvm::start(&own, &[], &["Idle"]) else { return };
    std::fs::remove_file(&copy).unwrap();
    std::fs::write(&copy, b"another file").unwrap();
    let vm = Vm::open(jvm.pid()).unwrap();
    assert!(vm.libjvm.deleted && vm.libjvm.path == copy.to_str().unwrap(), "{:?}", vm.libjvm);
    assert_eq!(vm.release.feature, jdk.release);
}

#[test]
fn a_process_that_is_no_jvm_is_called_so() {
    let missing = Vm::open(std::process::id()).unwrap_err();
    assert!(matches!(missing, Error::NoLibjvm { .. }), "{missing}");
}

#[test]
fn a_libjvm_of_another_kind_is_called_so() {
    let libraries =
        ["/lib/x86_64-linux-gnu/libz.so.1", "/usr/lib64/libz.so.1", "/lib/x86_64-linux-gnu/libm.so.6"];
    let library = libraries.iter().find(|path| std::path::Path::new(path).is_file());
    let (Some(library), true) = (library, jvm::may_trace()) else {
        fathom_testing::skip(&format!("none of {libraries:?} is here to stand for another JVM's library"));
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("libjvm.so");
    std::fs::copy(library, &copy).unwrap();
    let mut sleep = std::process::Command::new("sleep").arg("60").env("LD_PRELOAD", &copy).spawn().unwrap();
    // Until the dynamic linker has mapped it.
    let found = (0..100).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        Vm::open(sleep.id()).err().filter(|error| !matches!(error, Error::NoLibjvm { .. } | Error::Memory(_)))
    });
    sleep.kill().unwrap();
    sleep.wait().unwrap();
    assert!(matches!(found, Some(Error::NotHotSpot { .. })), "{found:?}");
}
