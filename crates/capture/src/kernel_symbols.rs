//! Functions of the kernel by address, from `/proc/kallsyms`.

use std::io::Read;
use std::sync::OnceLock;

use crate::procfs;

/// Bytes of the list that are looked at to see whether it has addresses.
const HEAD: u64 = 256 << 10;

/// The kernel's functions, sorted by address.
#[derive(Debug, Default)]
pub struct KernelSymbols {
    starts: Vec<u64>,
    /// Where the name of each begins in `names`.
    at: Vec<u32>,
    /// Name and module of each, with a newline between and behind; the module is empty for the
    /// kernel itself.
    names: String,
}

/// One list for the process: it takes megabytes and a fifth of a second.
static SYMBOLS: OnceLock<KernelSymbols> = OnceLock::new();

impl KernelSymbols {
    /// What this user may see. Empty where the kernel hides addresses (`kernel.kptr_restrict`).
    /// Reads it the first time, or waits until it was read.
    pub fn get() -> &'static Self {
        SYMBOLS.get_or_init(Self::read)
    }

    /// Begins to read it aside, so that the first stack of the kernel does not wait for it.
    pub fn prefetch() {
        // Without a thread, the first stack reads it.
        let _ = std::thread::Builder::new().name("fathom-kallsyms".into()).spawn(Self::get);
    }

    fn read() -> Self {
        Self::of(&procfs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    fn of(text: &str) -> Self {
        let mut all: Vec<(u64, &str, &str)> = text.lines().filter_map(parse).collect();
        all.sort_by_key(|symbol| symbol.0);
        let mut symbols = Self::default();
        for (start, name, module) in all {
            let Ok(at) = u32::try_from(symbols.names.len()) else { break };
            symbols.starts.push(start);
            symbols.at.push(at);
            symbols.names.extend([name, "\n", module, "\n"]);
        }
        symbols
    }

    /// Whether this user sees no addresses (`kernel.kptr_restrict`), judged by the first lines
    /// alone.
    pub fn are_hidden() -> bool {
        let mut head = Vec::new();
        let read =
            std::fs::File::open("/proc/kallsyms").and_then(|file| file.take(HEAD).read_to_end(&mut head));
        read.is_err() || !String::from_utf8_lossy(&head).lines().any(|line| parse(line).is_some())
    }

    /// Name and module ("kernel" for the kernel itself) of the function at an address.
    pub fn find(&self, address: u64) -> Option<(&str, &str)> {
        let at = self.starts.partition_point(|start| *start <= address).checked_sub(1)?;
        let mut words = self.names.get(*self.at.get(at)? as usize..)?.split('\n');
        let (name, module) = (words.next()?, words.next()?);
        Some((name, if module.is_empty() { "kernel" } else { module }))
    }
}

/// "ffffffff81000000 T _text" or, of a module, "… t name\t[ext4]". Functions only.
fn parse(line: &str) -> Option<(u64, &str, &str)> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok().filter(|address| *address != 0)?;
    let function = matches!(words.next()?, "t" | "T" | "w" | "W");
    let name = words.next()?;
    function.then(|| (address, name, words.next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_distinguished_from_data_and_hidden_addresses_give_none() {
        assert_eq!(parse("ffffffff81000000 T vfs_write"), Some((0xffff_ffff_8100_0000, "vfs_write", "")));
        assert_eq!(
            parse("ffffffffc0001000 t ext4_x\t[ext4]"),
            Some((0xffff_ffff_c000_1000, "ext4_x", "[ext4]"))
        );
        assert_eq!(parse("ffffffff82000000 D jiffies"), None);
        assert_eq!(parse("0000000000000000 T vfs_write"), None);
    }

    #[test]
    fn an_address_is_in_the_last_function_that_begins_before_it() {
        let symbols = KernelSymbols::of("2000 t two\t[ext4]\n1000 T one\n0000 T hidden\n");
        assert_eq!(symbols.find(0x0fff), None);
        assert_eq!(symbols.find(0x1fff), Some(("one", "kernel")));
        assert_eq!(symbols.find(0x2001), Some(("two", "[ext4]")));
    }
}
