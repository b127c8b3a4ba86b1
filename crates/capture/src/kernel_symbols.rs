//! Functions of the kernel by address, from `/proc/kallsyms`.

use crate::procfs;

/// The kernel's functions, sorted by address.
#[derive(Debug, Default)]
pub struct KernelSymbols {
    starts: Vec<u64>,
    /// Name and module of each; the module is empty for the kernel itself.
    names: Vec<(Box<str>, Box<str>)>,
}

impl KernelSymbols {
    /// Reads what this user may see. Empty where the kernel hides addresses (`kernel.kptr_restrict`).
    pub fn read() -> Self {
        let text = procfs::read_to_string("/proc/kallsyms").unwrap_or_default();
        let mut all: Vec<(u64, &str, &str)> = text.lines().filter_map(parse).collect();
        all.sort_by_key(|symbol| symbol.0);
        let names = all.iter().map(|(_, name, module)| ((*name).into(), (*module).into())).collect();
        Self { starts: all.into_iter().map(|symbol| symbol.0).collect(), names }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Name and module ("kernel" for the kernel itself) of the function at an address.
    pub fn find(&self, address: u64) -> Option<(&str, &str)> {
        let at = self.starts.partition_point(|start| *start <= address).checked_sub(1)?;
        let (name, module) = self.names.get(at)?;
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
    fn functions_are_told_from_data_and_hidden_addresses_give_none() {
        assert_eq!(parse("ffffffff81000000 T vfs_write"), Some((0xffff_ffff_8100_0000, "vfs_write", "")));
        assert_eq!(
            parse("ffffffffc0001000 t ext4_x\t[ext4]"),
            Some((0xffff_ffff_c000_1000, "ext4_x", "[ext4]"))
        );
        assert_eq!(parse("ffffffff82000000 D jiffies"), None);
        assert_eq!(parse("0000000000000000 T vfs_write"), None);
    }
}
