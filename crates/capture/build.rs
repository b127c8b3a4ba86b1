//! Compiles every `bpf/NAME.bpf.c` to `NAME.bpf.o` and makes its skeleton, `NAME.skel.rs`, in
//! OUT_DIR, with the types of what the programs send and keep (`bpf/types.h`), and the unwinder for
//! this process (`bpf/user_mode.c`). Needs clang (14 or later), a C compiler, and no rights:
//! programs are loaded at run time only.

use std::collections::BTreeSet;
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
        let skeleton = out.join(format!("{name}.skel.rs"));
        let built = SkeletonBuilder::new()
            .source(&source)
            .obj(out.join(format!("{name}.bpf.o")))
            .clang(&clang)
            .clang_args(arguments())
            // A literal of 1.5 million numbers takes seconds to format and to compile.
            .reference_obj(true)
            .build_and_generate(&skeleton);
        if let Err(error) = built {
            panic!(
                "{}: {error:#}\n(the eBPF programs need clang; Debian: apt-get install clang-14)",
                source.display()
            );
        }
        let generated = std::fs::read_to_string(&skeleton).expect("it was just written");
        let whole = readable(&generated, &name) + &constants(&generated);
        std::fs::write(&skeleton, whole).expect("it was just written");
    }
}

/// Lets the structs of a skeleton that are made of nothing but numbers be read from bytes and
/// written as such (`src/bpf/record.rs`). That this is sound is for the compiler to find: it
/// refuses what `zerocopy` cannot derive.
fn readable(skeleton: &str, object: &str) -> String {
    // What user space never reads, and what it knows by the types of `tables` alone
    // (`src/unwind/shared.rs`): to derive these for each object would take half of the time that
    // the crate takes to be checked.
    const KERNELS_OWN: [&str; 4] = ["bpf_perf_event_data", "license", "pt_regs", "walk"];
    const OF_TABLES: [&str; 7] =
        ["code_heap", "code_mapping", "jvm_code", "jvm_field", "process_code", "row_page", "unwind_row"];
    const NUMBERS: [&str; 8] = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"];
    const STRUCT: &str = "pub struct ";
    const DERIVED: &str =
        "#[derive(zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, PartialEq, Eq, Hash)]\n";
    // `name: [[u8; 48]; 12],` is of u8.
    let of = |field: &'_ str| -> Option<String> {
        let (_, of) = field.split_once(':')?;
        Some(of.trim().trim_start_matches('[').split([';', ',', ']']).next()?.to_owned())
    };
    let fields = |body: &str| body.lines().filter_map(of).collect::<Vec<_>>();
    let structs: Vec<(&str, Vec<String>)> = skeleton
        .split(STRUCT)
        .filter_map(|text| text.split_once(" {\n"))
        // Not what the kernel has, of which the programs name some fields, nor their constants.
        .filter(|(name, _)| !name.contains("___") && *name != "rodata")
        .map(|(name, rest)| (name, fields(rest.split('}').next().unwrap_or_default())))
        .collect();
    let mut known: BTreeSet<&str> = NUMBERS.into();
    loop {
        let before = known.len();
        let of_known = |fields: &Vec<String>| {
            !fields.is_empty() && fields.iter().all(|field| known.contains(field.as_str()))
        };
        let more: Vec<&str> =
            structs.iter().filter(|(_, fields)| of_known(fields)).map(|(name, _)| *name).collect();
        known.extend(more);
        if known.len() == before {
            break;
        }
    }
    let is_read = |name: &str| {
        known.contains(name)
            && !KERNELS_OWN.contains(&name)
            && (object == "tables" || !OF_TABLES.contains(&name))
    };
    let is_derived = |line: &str| {
        line.trim_start().strip_prefix(STRUCT).is_some_and(|rest| is_read(rest.trim_end_matches(" {\n")))
    };
    let derived = |line: &str| if is_derived(line) { format!("{DERIVED}{line}") } else { line.to_owned() };
    skeleton.split_inclusive('\n').map(derived).collect()
}

/// The constants of an object, and those that are the same for all objects (`src/bpf/kit.rs`).
fn constants(skeleton: &str) -> String {
    let name = skeleton.split("pub struct Open").filter_map(|rest| rest.split_once("Skel<'obj> {"));
    let name = name.map(|(name, _)| name).find(|name| !name.contains(char::is_whitespace));
    let constants = skeleton.split_once("pub struct rodata {").and_then(|(_, rest)| rest.split_once('}'));
    let (Some(name), Some((constants, _))) = (name, constants) else { return String::new() };
    let common = ["own_pid", "pidns_ino", "all_processes"].into_iter();
    let common = common.filter(|field| constants.contains(&format!("pub {field}: ")));
    let common: String =
        common.map(|field| format!("        constants.{field} = common.{field};\n")).collect();
    format!(
        "#[allow(unused_variables)]
impl crate::bpf::kit::Constants for Open{name}Skel<'_> {{
    type All = types::rodata;
    fn constants(&mut self) -> Option<&mut types::rodata> {{
        self.maps.rodata_data.as_deref_mut()
    }}
    fn set_common(constants: &mut types::rodata, common: &crate::bpf::kit::Common) {{
{common}    }}
}}
"
    )
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
