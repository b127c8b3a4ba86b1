//! Acting as the user of a JVM.
//!
//! HotSpot answers its own effective user only (JDK 8 to 10), or that user and root (from 11,
//! JDK-8197387), and checks the files that it is called by in the same way. Root therefore becomes
//! that user for as long as it talks to the JVM: files that fathom creates belong to the right
//! user, and fathom cannot be tricked into touching what the target's user may not touch.

use std::io;

/// Runs something with the effective user and group of a JVM if we are root and the JVM belongs to
/// somebody else.
///
/// Linux gives credentials to threads, and only the C library spreads them over a process: a
/// separate thread changes them by system calls and ends, so that nothing has to be restored.
pub(super) fn acting_as<T: Send>(uid: u32, gid: u32, act: impl FnOnce() -> T + Send) -> io::Result<T> {
    let (own_uid, own_gid) = (rustix::process::geteuid(), rustix::process::getegid());
    if !own_uid.is_root() || (own_uid.as_raw(), own_gid.as_raw()) == (uid, gid) {
        return Ok(act());
    }
    std::thread::scope(|scope| {
        let acting = std::thread::Builder::new().name("fathom-attach".into()).spawn_scoped(scope, || {
            become_user(uid, gid)?;
            Ok(act())
        })?;
        acting.join().unwrap_or_else(|_| Err(io::Error::other("the thread that attaches failed")))
    })
}

/// Changes the effective group, then the effective user of the calling thread.
fn become_user(uid: u32, gid: u32) -> io::Result<()> {
    const KEEP: libc::c_long = -1;
    let (uid, gid) = (libc::c_long::from(uid), libc::c_long::from(gid));
    let calls = [
        // Root's own groups must not open what the target's user may not.
        (libc::SYS_setgroups, [0, 0, 0]),
        (libc::SYS_setresgid, [KEEP, gid, KEEP]),
        (libc::SYS_setresuid, [KEEP, uid, KEEP]),
    ];
    for (call, [a, b, c]) in calls {
        // SAFETY: none of the calls takes memory of ours: `setgroups` gets a list of length zero.
        if unsafe { libc::syscall(call, a, b, c) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{geteuid, getuid};

    #[test]
    fn root_acts_as_another_user_and_is_root_again_behind_it() {
        if !geteuid().is_root() {
            fathom_testing::skip("only root can act as another user");
            return;
        }
        let inside = acting_as(65_534, 65_534, || (geteuid().as_raw(), getuid().as_raw())).unwrap();
        assert_eq!(inside, (65_534, 0));
        assert!(geteuid().is_root() && std::fs::read("/etc/shadow").is_ok());
    }
}
