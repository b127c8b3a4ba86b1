//! Names as people write them, of those that linkers see.

use std::fmt;

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};

/// Longest mangled name that is looked into; real ones with many templates reach some thousand
/// bytes.
const LONGEST_MANGLED: usize = 4096;
/// Longest name made. A mangled name refers back to its own parts, so that a short one can stand
/// for a huge one.
const LONGEST_NAME: usize = 1024;
/// Nesting of types that is followed, while parsing and while writing.
const DEEPEST: u32 = 96;

/// Endings that compilers append to a function that they split or copied.
const CLONES: &[&str] =
    &[".part.", ".constprop.", ".isra.", ".lto_priv.", ".cold", ".llvm.", ".localalias", ".artificial."];

/// The name of a function: C++ and Rust demangled, without parameters, return type, hash, symbol
/// version and what the compiler appended to a copy of it. What cannot be demangled stays as it is.
pub fn demangle(symbol: &str) -> String {
    let name = without_clones(symbol.split('@').next().unwrap_or(symbol));
    if name.len() > LONGEST_MANGLED {
        return cut(name);
    }
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        let mut text = Bounded::default();
        if fmt::write(&mut text, format_args!("{rust:#}")).is_ok() {
            return text.0;
        }
        return cut(name);
    }
    if !name.starts_with("_Z") {
        return cut(name);
    }
    // Of a thunk, which only adjusts `this`, the method that it goes on to (Itanium C++ ABI,
    // 5.1.4.4).
    let target = match name.get(..4) {
        Some("_ZTh") => name.splitn(3, '_').nth(2).map(|rest| format!("_Z{rest}")),
        Some("_ZTv") => name.splitn(4, '_').nth(3).map(|rest| format!("_Z{rest}")),
        _ => None,
    };
    let name = target.as_deref().unwrap_or(name);
    let parsed = Symbol::new_with_options(name, &ParseOptions::default().recursion_limit(DEEPEST));
    let options = DemangleOptions::new().no_params().no_return_type().recursion_limit(DEEPEST);
    let mut text = Bounded::default();
    match parsed.map(|symbol| symbol.structured_demangle(&mut text, &options)) {
        Ok(Ok(())) if !text.0.is_empty() => text.0,
        _ => cut(name),
    }
}

/// The name without the endings of copies: "f" of "f.part.0.cold".
fn without_clones(name: &str) -> &str {
    let ends = CLONES.iter().filter_map(|clone| name.find(clone)).filter(|at| *at > 0);
    ends.min().map_or(name, |at| &name[..at])
}

fn cut(name: &str) -> String {
    name.chars().take(LONGEST_NAME).collect()
}

/// Text that ends with an error where it would become too long.
#[derive(Default)]
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST_NAME {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_people_write() {
        for (symbol, name) in [
            (
                "_ZN9JavaCalls11call_helperEP9JavaValueRK12methodHandleP17JavaCallArgumentsP10JavaThread",
                "JavaCalls::call_helper",
            ),
            ("_ZN2os5sleepEP6Threadlb.part.0", "os::sleep"),
            ("_ZNK8VM_GC_Op4nameEv.constprop.3.cold", "VM_GC_Op::name"),
            ("_ZN7GCTimerC2Ev", "GCTimer::GCTimer"),
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("_Znwm", "operator new"),
            ("_ZThn8_N12LIRGenerator8block_doEP10BlockBegin", "LIRGenerator::block_do"),
            ("_ZTv0_n24_N1A1fEv", "A::f"),
            ("memcpy@@GLIBC_2.14", "memcpy"),
            ("start_thread", "start_thread"),
            ("do_work.isra.0", "do_work"),
            ("_Z", "_Z"),
            ("_ZN", "_ZN"),
            ("", ""),
            (".cold", ".cold"),
        ] {
            assert_eq!(demangle(symbol), name);
        }
    }

    #[test]
    fn a_name_that_unfolds_without_end_stays_mangled() {
        // Each `S<n>_` repeats all that was before it, so that the length doubles.
        let mut symbol = "_Z1fI1aE".to_owned();
        symbol = format!("{symbol}{}", "St4pairIS_S_E".repeat(200));
        assert!(demangle(&symbol).len() <= LONGEST_NAME);
        let nested = format!("_Z1f{}i", "P".repeat(4000));
        assert!(demangle(&nested).len() <= LONGEST_NAME);
        assert!(demangle(&"x".repeat(100_000)).len() <= LONGEST_NAME);
    }
}
