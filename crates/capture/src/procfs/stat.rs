//! `/proc/PID/stat` and `/proc/PID/task/TID/stat`: one line, fields by position, the second one in
//! parentheses.

use super::{path, read_to_string};

/// What a process or a thread used, as the kernel accounts it. Times in ticks of USER_HZ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// State: 'R' running, 'S' sleeping, 'D' on disk, 'Z' zombie, 'T' stopped.
    pub state: u8,
    /// Parent.
    pub ppid: i32,
    /// Flags of the task (`PF_*` of include/linux/sched.h).
    pub flags: u64,
    /// Minor faults: a page was mapped without reading it from anywhere.
    pub minor_faults: u64,
    /// Major faults: a page was read from a disk.
    pub major_faults: u64,
    /// CPU time in user mode, ticks.
    pub user_ticks: u64,
    /// CPU time in kernel mode, ticks.
    pub sys_ticks: u64,
    /// Threads.
    pub threads: u64,
    /// Its nice value, that of its first thread: -20 to 19.
    pub nice: i64,
    /// When it started, ticks since boot. With the id it names a process for good.
    pub start_ticks: u64,
    /// Resident memory, pages.
    pub rss_pages: u64,
}

impl Stat {
    /// Of a process; `None` when it is gone.
    pub fn of(pid: i32) -> Option<Self> {
        Self::parse(&read_to_string(path(pid, "stat"))?)
    }

    /// Fields after the command, which may itself contain blanks and parentheses: its end is the
    /// last one.
    pub fn parse(line: &str) -> Option<Self> {
        let (_, fields) = line.rsplit_once(") ")?;
        let mut stat = Self::default();
        // Numbers of proc(5); the state is the third field.
        for (number, text) in (3_u8..).zip(fields.split_ascii_whitespace()) {
            let count = || text.parse::<u64>().ok();
            match number {
                3 => stat.state = *text.as_bytes().first()?,
                4 => stat.ppid = text.parse().ok()?,
                9 => stat.flags = count()?,
                10 => stat.minor_faults = count()?,
                12 => stat.major_faults = count()?,
                14 => stat.user_ticks = count()?,
                15 => stat.sys_ticks = count()?,
                19 => stat.nice = text.parse().ok()?,
                20 => stat.threads = count()?,
                22 => stat.start_ticks = count()?,
                24 => {
                    stat.rss_pages = count()?;
                    return Some(stat);
                }
                _ => {}
            }
        }
        None
    }

    /// The command in parentheses: at most 15 bytes, a thread's name for a thread.
    pub fn command(line: &str) -> Option<&str> {
        let (_, rest) = line.split_once('(')?;
        Some(rest.rsplit_once(") ")?.0)
    }

    /// CPU time, ticks.
    pub fn cpu_ticks(&self) -> u64 {
        self.user_ticks.saturating_add(self.sys_ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "4711 (a) b (c) R 1 2 3 4 5 6 70 0 8 0 900 100 0 0 20 0 33 0 123456 99999 777 18446744073709551615 1 1";

    #[test]
    fn a_command_with_parentheses_shifts_no_field() {
        let stat = Stat::parse(LINE).unwrap();
        assert_eq!((stat.state, stat.ppid, stat.minor_faults, stat.major_faults), (b'R', 1, 70, 8));
        assert_eq!((stat.user_ticks, stat.sys_ticks, stat.threads), (900, 100, 33));
        assert_eq!((stat.start_ticks, stat.rss_pages), (123_456, 777));
        assert_eq!(Stat::command(LINE), Some("a) b (c"));
    }

    #[test]
    fn a_line_cut_anywhere_is_none_and_no_panic() {
        for end in 0..LINE.len() {
            let parsed = Stat::parse(&LINE[..end]);
            assert!(parsed.is_none() || end > LINE.find(" 777").unwrap());
        }
    }

    #[test]
    fn this_process_is_there() {
        let stat = Stat::of(std::process::id() as i32).unwrap();
        assert!(stat.threads >= 1 && stat.start_ticks > 0 && stat.rss_pages > 0);
    }
}
