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
fn a_process_that_is_no_jvm_is_called_so() {
    let missing = Vm::open(std::process::id()).unwrap_err();
    assert!(matches!(missing, Error::NoLibjvm { .. }), "{missing}");
}
