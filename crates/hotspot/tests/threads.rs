//! Threads of live JVMs, compared with `jcmd Thread.print`.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod jvm;

use std::collections::BTreeMap;

use fathom_hotspot::Vm;
use fathom_hotspot::symbols::Objects;
use fathom_hotspot::threads::{ThreadState, Threads};
use fathom_recording::Role;
use jvm::Jvm;

/// Name by kernel id: `"main" #1 prio=5 … nid=0x1a2b …`, since JDK 21 `nid=6699` and
/// `"main" #1 [6699] …`.
fn dumped(text: &str) -> BTreeMap<u32, String> {
    let lines = text.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix('"')?.rsplit_once('"')?;
        let nid = rest.split("nid=").nth(1)?.split(' ').next()?;
        let nid = match nid.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => nid.parse().ok()?,
        };
        Some((nid, name.to_owned()))
    });
    lines.collect()
}

#[test]
fn names_ids_and_roles_of_all_threads_are_those_of_the_thread_dump() {
    if !jvm::may_trace() {
        return;
    }
    for jdk in jvm::jdks() {
        let Some(jvm) = Jvm::start(&jdk, &["-XX:+UseParallelGC"], &["Known", "50"]) else { return };
        let vm = Vm::open(jvm.pid()).unwrap();
        let mut threads = Threads::new(&vm).unwrap();
        let Some(text) = jvm.jcmd(&["Thread.print"]) else { return };
        let dumped_names = dumped(&text);
        let all = threads.all(&vm).unwrap();
        let java = all.iter().filter(|thread| thread.java.is_some());
        for thread in java.clone() {
            assert_eq!(dumped_names.get(&thread.tid), Some(&thread.name), "{}", vm.release);
        }
        // All that the JVM prints as Java threads have a "#": those must be there.
        let java_threads = text.lines().filter(|l| l.starts_with('"') && l.contains("\" #")).count();
        assert_eq!(java.count(), java_threads, "{}", vm.release);
        let role = |name: &str| all.iter().find(|thread| thread.name == name).map(|thread| thread.role);
        assert_eq!(role("main"), Some(Role::App));
        assert_eq!(role("Übergröße ☃"), Some(Role::App));
        assert_eq!(role("Reference Handler"), Some(Role::Vm));
        assert_eq!(role("VM Thread"), Some(Role::Vm), "{}", vm.release);
        let mut roles: BTreeMap<String, usize> = BTreeMap::new();
        for thread in &all {
            *roles.entry(format!("{:?}", thread.role)).or_default() += 1;
            let Some(name) = dumped_names.get(&thread.tid) else { continue };
            // The dump names native threads in full.
            let expected = match name {
                name if name.starts_with("GC ") || name.starts_with("ParGC ") => Role::Gc,
                name if name.contains("CompilerThread") => Role::Jit,
                name if name.starts_with("VM ") => Role::Vm,
                _ => continue,
            };
            assert_eq!(thread.role, expected, "{}: {name}", vm.release);
        }
        eprintln!("{}: {roles:?}", vm.release);
        assert!(roles["Jit"] >= 1 && roles["Gc"] >= 1 && roles["Vm"] >= 4);
        let states = threads.java(&vm).unwrap();
        let state = |name: &str| states.iter().find(|t| t.name.as_deref() == Some(name)).unwrap();
        assert_eq!(state("cold-wait").state, ThreadState::Blocked);
        assert!(state("cold-wait").anchor.is_some());
    }
}

#[test]
fn threads_of_a_jvm_in_a_pid_namespace_have_the_ids_of_this_one() {
    if !jvm::may_trace() {
        return;
    }
    let enter = ["--pid", "--fork", "--kill-child", "--mount-proc"];
    if !std::process::Command::new("unshare").args(enter).arg("true").status().is_ok_and(|s| s.success()) {
        fathom_testing::skip("no pid namespace can be made here (unshare, root)");
        return;
    }
    for jdk in jvm::jdks() {
        let mut command = std::process::Command::new("unshare");
        let Some(classes) = jvm::classes() else { return };
        command.args(enter).arg(&jdk.java).args(["-Xmx64m", "-cp"]).arg(classes).arg("Idle");
        let jvm = Jvm::of(command, &jdk);
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", jvm.pid())).unwrap();
        let pid: u32 = children.trim().parse().unwrap();
        let vm = Vm::open(pid).unwrap();
        let all = Threads::new(&vm).unwrap().all(&vm).unwrap();
        let main = all.iter().find(|thread| thread.name == "main").unwrap();
        assert!(main.java.is_some() && main.tid > pid, "{}: {main:?}", vm.release);
        assert!(std::path::Path::new(&format!("/proc/{pid}/task/{}", main.tid)).exists());
        let jit = all.iter().filter(|thread| thread.role == Role::Jit).count();
        assert!(jit > 0, "{}: {all:?}", vm.release);
    }
}

#[test]
fn what_a_compiler_compiles_is_named_while_it_does() {
    if !jvm::may_trace() {
        return;
    }
    for jdk in jvm::jdks() {
        // Everything is compiled before it runs, so that compilers are busy from the beginning.
        let options = ["-Xcomp", "-XX:-TieredCompilation", "-Xbatch"];
        let Some(jvm) = Jvm::start(&jdk, &options, &["Busy"]) else { return };
        let vm = Vm::open(jvm.pid()).unwrap();
        let mut threads = Threads::new(&vm).unwrap();
        let objects = Objects::new(vm.clone()).unwrap();
        let compilers: Vec<_> =
            threads.all(&vm).unwrap().into_iter().filter(|t| t.role == Role::Jit).collect();
        let mut seen: BTreeMap<u32, String> = BTreeMap::new();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while seen.len() < 5 && std::time::Instant::now() < until {
            for compiler in &compilers {
                let Ok(Some(task)) = threads.compiling(&vm, compiler) else { continue };
                assert_eq!(task.level, 4);
                if let Ok(method) = objects.method(task.method) {
                    seen.insert(task.compile_id, method.full_name());
                }
            }
        }
        eprintln!("{}: {seen:?}", vm.release);
        assert!(seen.len() >= 5 && seen.values().all(|name| name.contains('.')), "{}: {seen:?}", vm.release);
    }
}
