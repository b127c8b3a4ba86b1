//! Where fathom's own programs lie in the kernel: what a target spends in them is fathom's doing
//! and not its own, and is named so.

use std::collections::HashSet;

/// How frames of them are called, before the name of the program, and their module.
pub(crate) use fathom_recording::vocabulary::frame::RECORDER_MODULE as MODULE;
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};

use crate::procfs;

/// Machine code of the programs that this process has loaded.
#[derive(Debug, Default)]
pub(crate) struct OwnPrograms {
    /// From, to, name; by address.
    code: Vec<(u64, u64, String)>,
}

impl OwnPrograms {
    /// Those that are loaded by now.
    pub(crate) fn read() -> Self {
        let ids = own_ids();
        let options = ProgInfoQueryOptions::default().include_jited_ksyms(true).include_jited_func_lens(true);
        let own = ProgInfoIter::with_query_opts(options).filter(|program| ids.contains(&program.id));
        let parts = own.flat_map(|program| {
            let name = format!("{MODULE}: {}", program.name.to_string_lossy());
            let parts = program.jited_ksyms.into_iter().zip(program.jited_func_lens);
            parts
                .map(|(at, bytes)| (at as u64, at as u64 + u64::from(bytes), name.clone()))
                .collect::<Vec<_>>()
        });
        Self::of(parts.collect())
    }

    fn of(mut code: Vec<(u64, u64, String)>) -> Self {
        // The kernel hides addresses from those who may not see them, as 0.
        code.retain(|(from, ..)| *from != 0);
        code.sort();
        Self { code }
    }

    /// The name of the program that holds an address.
    pub(crate) fn find(&self, address: u64) -> Option<&str> {
        let at = self.code.partition_point(|(from, ..)| *from <= address).checked_sub(1)?;
        let (_, to, name) = self.code.get(at)?;
        // A return address may lie right behind a call at the end.
        (address <= *to).then_some(name.as_str())
    }
}

/// Programs that are open in this process (proc_pid_fdinfo(5)).
fn own_ids() -> HashSet<u32> {
    let files = std::fs::read_dir("/proc/self/fdinfo").into_iter().flatten().flatten();
    let texts = files.filter_map(|file| procfs::read_to_string(file.path()));
    texts.filter_map(|text| procfs::number(&text, "prog_id:")?.try_into().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_the_program_that_holds_it_and_to_none_between() {
        let programs = OwnPrograms::of(vec![
            (0x300, 0x340, "fathom: b".into()),
            (0x100, 0x180, "fathom: a".into()),
            (0, 9, "hidden".into()),
        ]);
        assert_eq!(programs.find(0x17f), Some("fathom: a"));
        assert_eq!(programs.find(0x300), Some("fathom: b"));
        assert_eq!(
            [programs.find(0x99), programs.find(0x200), programs.find(0x341), programs.find(5)],
            [None; 4]
        );
    }
}
