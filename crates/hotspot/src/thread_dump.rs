//! What the threads of a running JVM are doing, as `jstack` prints it.

use crate::Result;
use crate::attach::Attach;

/// Threads read at most.
const MOST_THREADS: usize = 1 << 17;

/// One thread of a dump.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DumpedThread {
    /// Its name.
    pub name: String,
    /// Id of the kernel's thread, as the JVM's own pid namespace numbers it.
    pub native_id: Option<u32>,
    /// Java's own number of it; threads of the JVM itself have none.
    pub java_id: Option<u64>,
    /// Whether it is a daemon.
    pub daemon: bool,
    /// `java.lang.Thread.State`: "RUNNABLE", "BLOCKED (on object monitor)", "TIMED_WAITING
    /// (sleeping)"; empty for threads of the JVM itself.
    pub state: String,
    /// Its frames, innermost first: "java.lang.Thread.sleep(Native Method)".
    pub frames: Vec<String>,
    /// What it holds and waits for, in the order of the frames: "- locked <0x…> (a
    /// java.lang.Object)".
    pub locks: Vec<String>,
}

/// A dump of all threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadDump {
    /// The threads, Java's and the JVM's own.
    pub threads: Vec<DumpedThread>,
    /// What the JVM reports of deadlocks that it found; empty: none.
    pub deadlocks: String,
}

impl Attach {
    /// The JVM stops all threads at a safepoint, prints them, and lets them go on: some
    /// milliseconds for hundreds of threads.
    pub fn thread_dump(&self) -> Result<ThreadDump> {
        Ok(ThreadDump::parse(&self.execute("threaddump", &["-l"])?))
    }
}

impl ThreadDump {
    /// Parses the text of a dump of JDK 8 to 25. Lines that do not belong to a thread are left out.
    pub fn parse(text: &str) -> Self {
        let mut dump = Self::default();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line.starts_with("Found ") && line.contains("deadlock") {
                dump.deadlocks = std::iter::once(line).chain(lines).collect::<Vec<_>>().join("\n");
                break;
            }
            if let Some(thread) = header(line) {
                if dump.threads.len() == MOST_THREADS {
                    break;
                }
                dump.threads.push(thread);
            } else if let Some(thread) = dump.threads.last_mut() {
                thread.take(line.trim());
            }
        }
        dump
    }
}

impl DumpedThread {
    /// A line below the thread's first.
    fn take(&mut self, line: &str) {
        if let Some(state) = line.strip_prefix("java.lang.Thread.State: ") {
            state.clone_into(&mut self.state);
        } else if let Some(frame) = line.strip_prefix("at ") {
            self.frames.push(frame.to_owned());
        } else if line.starts_with("- ") {
            self.locks.push(line.to_owned());
        }
    }
}

/// `"main" #1 [4712] prio=5 os_prio=0 cpu=45.20ms elapsed=3.10s tid=0x… nid=4712 waiting on condition [0x…]`:
/// `nid` is hexadecimal until JDK 18. A name may hold quotes: the last one before the numbers ends
/// it.
fn header(line: &str) -> Option<DumpedThread> {
    let rest = line.strip_prefix('"')?;
    let numbers = rest.rfind(" tid=0x")?;
    let end = rest[..numbers].rfind('"')?;
    let (name, rest) = (&rest[..end], &rest[end + 1..]);
    let word = |start: &str| rest.split_whitespace().find_map(|word| word.strip_prefix(start));
    let native_id = word("nid=").and_then(|nid| match nid.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => nid.parse().ok(),
    });
    Some(DumpedThread {
        name: name.to_owned(),
        native_id,
        java_id: word("#").and_then(|id| id.parse().ok()),
        daemon: rest.split_whitespace().any(|word| word == "daemon"),
        ..DumpedThread::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_old_and_new_releases_are_read() {
        let text = "2026-11-21 14:00:00\nFull thread dump OpenJDK 64-Bit Server VM:\n\n\
            \"my \"pool\" 1\" #12 daemon prio=5 os_prio=0 tid=0x00007f nid=0x1a2b waiting on condition [0x00]\n   \
            java.lang.Thread.State: TIMED_WAITING (sleeping)\n\tat java.lang.Thread.sleep(Native Method)\n\t\
            - locked <0x1> (a java.lang.Object)\n\tat Main.main(Main.java:3)\n\n   Locked ownable synchronizers:\n\t- None\n\n\
            \"main\" #1 [4712] prio=5 os_prio=0 cpu=4.2ms elapsed=1.0s tid=0x00007f nid=4712 runnable  [0x0]\n   \
            java.lang.Thread.State: RUNNABLE\n\
            \"VM Thread\" os_prio=0 cpu=1.0ms elapsed=1.0s tid=0x00007f nid=4720 runnable\n\n\
            Found one Java-level deadlock:\n=====\n\"a\":\n  waiting\n";
        let dump = ThreadDump::parse(text);
        let parsed: Vec<_> = dump.threads.iter().map(|t| (t.name.as_str(), t.native_id, t.java_id)).collect();
        assert_eq!(
            parsed,
            [
                ("my \"pool\" 1", Some(0x1a2b), Some(12)),
                ("main", Some(4712), Some(1)),
                ("VM Thread", Some(4720), None)
            ]
        );
        assert!(dump.threads[0].daemon && dump.threads[0].frames.len() == 2);
        assert_eq!(dump.threads[0].state, "TIMED_WAITING (sleeping)");
        assert!(dump.deadlocks.starts_with("Found one") && dump.deadlocks.ends_with("waiting"));
        assert_eq!(ThreadDump::parse(""), ThreadDump::default());
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(\"\\PC{0,20}\" tid=0x1 nid=\\PC{0,9}\n|\\PC{0,30}\n){0,5}") {
            ThreadDump::parse(&text);
        }
    }
}
