//! File descriptors: each collector takes a few for each CPU and process, and more than many
//! shells allow.

use std::fs::File;
use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::Unavailable;

/// So many are kept for reading `/proc` while recording; where fewer are left, what is read of a
/// process is that it is gone.
const SPARE: usize = 16;

/// Lets this process open as many files as it may without asking anybody. A command that fathom
/// starts does not inherit it: it is forked before.
pub(crate) fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current < limit.maximum || limit.maximum.is_none() {
        // What cannot be raised is as it was.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
}

/// That there are too few left to go on with; `None`: there are enough.
pub(crate) fn exhausted() -> Option<Unavailable> {
    let mut open: Vec<File> = Vec::new();
    for _ in 0..SPARE {
        match File::open("/proc/self/stat") {
            Ok(file) => open.push(file),
            Err(error) if is_for_want(&error) => return Some(unavailable()),
            // Something else is in the way, and is reported where it is.
            Err(_) => return None,
        }
    }
    None
}

/// Whether there are none left, of this process or of the whole machine.
fn is_for_want(error: &io::Error) -> bool {
    [libc::EMFILE, libc::ENFILE].map(Some).contains(&error.raw_os_error())
}

fn unavailable() -> Unavailable {
    let may_open = getrlimit(Resource::Nofile).maximum.map_or_else(String::new, |most| format!(" {most}"));
    Unavailable {
        scope: None,
        what: "what is recorded".into(),
        why: format!("fathom has no file descriptors left (it may open{may_open})"),
        remedy: "raise the limit (ulimit -n 8192, LimitNOFILE= of a unit), or record less (--without, -p)"
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn want_of_descriptors_is_distinguished_from_other_errors() {
        assert!(is_for_want(&io::Error::from_raw_os_error(libc::EMFILE)));
        assert!(!is_for_want(&io::Error::from_raw_os_error(libc::ENOENT)));
        assert_eq!(exhausted(), None);
        raise_limit();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
