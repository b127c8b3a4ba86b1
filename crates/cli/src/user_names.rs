//! Names of users, from `/etc/passwd`: those of a directory service are shown by their number.

use std::collections::BTreeMap;

/// Users by number.
#[derive(Debug)]
pub struct Users(BTreeMap<u32, String>);

impl Users {
    /// Those of this machine.
    pub fn read() -> Self {
        Self::parse(&std::fs::read_to_string("/etc/passwd").unwrap_or_default())
    }

    /// The name of a user, or its number.
    pub fn name(&self, uid: u32) -> String {
        self.0.get(&uid).cloned().unwrap_or_else(|| uid.to_string())
    }

    fn parse(text: &str) -> Self {
        let users = text.lines().rev().filter_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            Some((fields.nth(1)?.parse().ok()?, name.to_owned()))
        });
        Self(users.collect())
    }
}

/// The effective user of this process.
pub fn own_uid() -> u32 {
    fathom_hotspot::proc_status::ProcStatus::of(std::process::id()).map_or(u32::MAX, |own| own.uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_two_names_of_a_number_counts_and_an_unknown_number_stays_one() {
        let users =
            Users::parse("root:x:0:0:root:/root:/bin/sh\ntoor:x:0:0::/:\nbroken\napp:x:1000:1000::/:\n");
        assert_eq!(
            (users.name(0), users.name(1000), users.name(7)),
            ("root".into(), "app".into(), "7".into())
        );
    }
}
