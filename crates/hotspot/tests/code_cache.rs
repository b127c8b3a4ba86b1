//! The code cache of live JVMs, compared with what the JVM itself lists.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod jvm;

use std::collections::BTreeMap;

use fathom_hotspot::Vm;
use fathom_hotspot::code_cache::{BlobKind, CodeCache, UnwindConstants};
use jvm::Jvm;

#[test]
fn every_address_of_every_blob_leads_back_to_it() {
    if !jvm::may_trace() {
        return;
    }
    for jdk in jvm::jdks() {
        for options in [&[][..], &["-XX:-SegmentedCodeCache"], &["-Xint"]] {
            if jdk.release == 8 && options.contains(&"-XX:-SegmentedCodeCache") {
                continue;
            }
            let Some(jvm) = Jvm::start(&jdk, options, &["Idle"]) else { return };
            let vm = Vm::open(jvm.pid()).unwrap();
            let code = CodeCache::read(&vm).unwrap();
            let constants = UnwindConstants::of(&vm, &code).unwrap();
            let blobs = code.blobs(&vm.memory).unwrap();
            let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
            for blob in &blobs {
                *kinds.entry(format!("{:?}", blob.kind)).or_default() += 1;
                let inside =
                    [blob.address, blob.code_begin, (blob.address + blob.code_end) / 2, blob.code_end - 1];
                for pc in inside.into_iter().filter(|pc| blob.holds(*pc)) {
                    let found = code.find(&vm.memory, pc).unwrap();
                    // Compiled code may be freed while it is looked at; what is there must be
                    // right.
                    assert!(
                        found.as_ref().is_none_or(|found| found == blob),
                        "{}: {pc:#x}: {blob:?} is not {found:?}",
                        vm.release
                    );
                }
            }
            eprintln!(
                "{} {options:?}: {} heaps, {} blobs, {kinds:?}",
                vm.release,
                code.heaps.len(),
                blobs.len()
            );
            let count = |kind| blobs.iter().filter(|blob| blob.kind == kind).count();
            assert_eq!(count(BlobKind::Interpreter), 1);
            assert!(count(BlobKind::Adapter) > 0 && count(BlobKind::Stub) > 10);
            assert!(count(BlobKind::Nmethod) > 0 || options.contains(&"-Xint"));
            let interpreter = blobs.iter().find(|blob| blob.kind == BlobKind::Interpreter).unwrap();
            assert!(
                interpreter.code_begin <= code.interpreter.0 && code.interpreter.1 <= interpreter.code_end
            );
            assert!(
                code.find(&vm.memory, constants.call_stub_return)
                    .unwrap()
                    .unwrap()
                    .name
                    .starts_with("StubRoutines")
            );
            assert_eq!(code.find(&vm.memory, vm.libjvm.base).unwrap(), None);
        }
    }
}
