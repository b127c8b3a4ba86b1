//! Compiles every `bpf/NAME.bpf.c` to `NAME.bpf.o` and makes its skeleton, `NAME.skel.rs`, in
//! OUT_DIR, and the unwinder for this process (`bpf/user_mode.c`). Needs clang (14 or later), a C
//! compiler, and no rights: programs are loaded at run time only.

use std::path::{Path, PathBuf};
use std::process::Command;

use libbpf_cargo::SkeletonBuilder;

fn main() {
    println!("cargo:rerun-if-changed=bpf");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch != "x86_64") {
        println!(
            "cargo:warning=live recording by eBPF is made for x86-64; elsewhere fathom refuses it when it runs"
        );
    }
    println!("cargo:rerun-if-env-changed=CLANG");
    cc::Build::new().file("bpf/user_mode.c").opt_level(2).warnings(false).compile("fathom_unwind");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let clang = clang();
    let mut sources: Vec<PathBuf> = std::fs::read_dir("bpf")
        .expect("crates/capture/bpf is part of the sources")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.to_string_lossy().ends_with(".bpf.c"))
        .collect();
    sources.sort();
    for source in sources {
        let name = source.file_name().expect("it ends in .bpf.c").to_string_lossy().replace(".bpf.c", "");
        let built = SkeletonBuilder::new()
            .source(&source)
            .obj(out.join(format!("{name}.bpf.o")))
            .clang(&clang)
            .clang_args(arguments())
            .build_and_generate(out.join(format!("{name}.skel.rs")));
        if let Err(error) = built {
            panic!(
                "{}: {error:#}\n(the eBPF programs need clang; Debian: apt-get install clang-14)",
                source.display()
            );
        }
    }
}

/// The compiler: CLANG, or the first that is there.
fn clang() -> PathBuf {
    if let Some(clang) = std::env::var_os("CLANG") {
        return clang.into();
    }
    let versions = ["clang-14", "clang"].into_iter().map(str::to_owned);
    let later = (15..30).map(|version| format!("clang-{version}"));
    let works =
        |name: &String| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
    versions.chain(later).find(works).map_or_else(|| "clang".into(), PathBuf::from)
}

/// Where headers are: our own; those of the libbpf that is linked (`libbpf-sys` hands its place
/// on); the system's for the machine that is built for, as `asm/ptrace.h` is not where clang looks
/// for target bpf.
fn arguments() -> Vec<String> {
    let machine = std::env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let headers = format!("/usr/include/{machine}-linux-gnu");
    let libbpf = std::env::var("DEP_BPF_INCLUDE").expect("libbpf-sys says where its headers are");
    let mut arguments =
        vec![format!("-I{libbpf}"), "-Ibpf".to_owned(), "-Wall".to_owned(), "-Werror".to_owned()];
    if Path::new(&headers).is_dir() {
        arguments.push(format!("-I{headers}"));
    }
    arguments
}
