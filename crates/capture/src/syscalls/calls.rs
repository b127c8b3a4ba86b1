//! The catalogue of system calls: where the arguments that matter stand, and whether a long call is
//! reported.
//!
//! Sources: the prototypes in include/linux/syscalls.h of the kernel, in the order of the
//! arguments. A call that is not in the list is reported by its name alone.

use syscalls::Sysno;

use super::skeleton::types::{call_report, call_shape};
use crate::similar_names::similar_names;

/// Whether a long call is reported one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Report {
    /// Only counted: a thread waits in it by choice, and the scheduler's spans show its waits
    /// already.
    Never = call_report::REPORT_NEVER.0 as u8,
    /// Unless it is on a descriptor that only signals events.
    Files = call_report::REPORT_FILES.0 as u8,
    /// When it polls one connected socket.
    Socket = call_report::REPORT_SOCKET.0 as u8,
    /// Whatever it is on.
    Always = call_report::REPORT_ALWAYS.0 as u8,
}

/// What the number behind an argument means, for the label of flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flags {
    Open(usize),
    Protection(usize),
    Advice(usize),
    Clone(usize),
    Futex(usize),
}

/// Where the arguments of a call stand, by index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) number: Sysno,
    pub(super) report: Report,
    pub(super) fd: Option<usize>,
    pub(super) path: Option<usize>,
    pub(super) dirfd: Option<usize>,
    /// A `struct sockaddr` of the peer.
    pub(super) address: Option<usize>,
    pub(super) result_is_fd: bool,
    pub(super) polls: bool,
    /// Bytes that it is asked for.
    pub(super) bytes: Option<usize>,
    /// Whether its result is how many bytes it has moved.
    pub(super) moves: bool,
    /// An address in the memory of the process, or of a futex.
    pub(super) memory: Option<usize>,
    pub(super) flags: Option<Flags>,
}

const fn call(number: Sysno) -> Call {
    Call {
        number,
        report: Report::Files,
        fd: None,
        path: None,
        dirfd: None,
        address: None,
        result_is_fd: false,
        polls: false,
        bytes: None,
        moves: false,
        memory: None,
        flags: None,
    }
}

/// One that a thread waits in by choice.
const fn waits(number: Sysno) -> Call {
    Call { report: Report::Never, ..call(number) }
}

const fn polls(number: Sysno) -> Call {
    Call { report: Report::Socket, polls: true, ..call(number) }
}

const fn on(number: Sysno) -> Call {
    Call { fd: Some(0), ..call(number) }
}

/// Moves bytes from or to descriptor 0; argument 2 says how many.
const fn moves(number: Sysno) -> Call {
    Call { bytes: Some(2), moves: true, ..on(number) }
}

/// The same with a list of buffers.
const fn moves_many(number: Sysno) -> Call {
    Call { moves: true, ..on(number) }
}

const fn at(number: Sysno, path: usize) -> Call {
    Call { path: Some(path), ..call(number) }
}

/// Path 1 relative to directory 0.
const fn below(number: Sysno) -> Call {
    Call { dirfd: Some(0), ..at(number, 1) }
}

impl Call {
    const fn fd(self, index: usize) -> Self {
        Self { fd: Some(index), ..self }
    }

    const fn opens(self) -> Self {
        Self { result_is_fd: true, ..self }
    }

    const fn to(self, address: usize) -> Self {
        Self { address: Some(address), ..self }
    }

    const fn asks(self, bytes: usize) -> Self {
        Self { bytes: Some(bytes), ..self }
    }

    const fn memory(self, address: usize) -> Self {
        Self { memory: Some(address), ..self }
    }

    const fn flags(self, flags: Flags) -> Self {
        Self { flags: Some(flags), ..self }
    }
}

/// All calls of which more than the name is known.
pub(super) static CALLS: &[Call] = &[
    // Descriptors.
    moves(Sysno::read),
    moves(Sysno::write),
    moves(Sysno::pread64),
    moves(Sysno::pwrite64),
    moves_many(Sysno::readv),
    moves_many(Sysno::writev),
    moves_many(Sysno::preadv),
    moves_many(Sysno::pwritev),
    moves_many(Sysno::preadv2),
    moves_many(Sysno::pwritev2),
    on(Sysno::fsync),
    on(Sysno::fdatasync),
    on(Sysno::sync_file_range).asks(2),
    on(Sysno::syncfs),
    on(Sysno::fallocate).asks(3),
    on(Sysno::ftruncate),
    on(Sysno::fstat),
    on(Sysno::flock),
    on(Sysno::fcntl),
    on(Sysno::ioctl),
    on(Sysno::lseek),
    on(Sysno::getdents64),
    on(Sysno::readahead).asks(2),
    on(Sysno::fadvise64).asks(2),
    moves(Sysno::sendfile).asks(3),
    moves(Sysno::splice).fd(2).asks(4),
    moves(Sysno::copy_file_range).fd(2).asks(4),
    // Paths.
    at(Sysno::open, 0).opens().flags(Flags::Open(1)),
    below(Sysno::openat).opens().flags(Flags::Open(2)),
    below(Sysno::openat2).opens(),
    at(Sysno::creat, 0).opens(),
    at(Sysno::stat, 0),
    at(Sysno::lstat, 0),
    below(Sysno::newfstatat),
    below(Sysno::statx),
    at(Sysno::statfs, 0),
    at(Sysno::access, 0),
    below(Sysno::faccessat),
    below(Sysno::faccessat2),
    at(Sysno::readlink, 0),
    below(Sysno::readlinkat),
    at(Sysno::unlink, 0),
    below(Sysno::unlinkat),
    at(Sysno::rename, 0),
    below(Sysno::renameat),
    below(Sysno::renameat2),
    at(Sysno::link, 0),
    below(Sysno::linkat),
    at(Sysno::mkdir, 0),
    below(Sysno::mkdirat),
    at(Sysno::rmdir, 0),
    at(Sysno::truncate, 0),
    at(Sysno::chmod, 0),
    below(Sysno::fchmodat),
    below(Sysno::utimensat),
    at(Sysno::chdir, 0),
    // Sockets.
    on(Sysno::connect).to(1),
    on(Sysno::accept).opens(),
    on(Sysno::accept4).opens(),
    moves(Sysno::sendto).to(4),
    moves(Sysno::recvfrom).to(4),
    moves_many(Sysno::sendmsg),
    moves_many(Sysno::recvmsg),
    on(Sysno::sendmmsg),
    on(Sysno::recvmmsg),
    on(Sysno::shutdown),
    on(Sysno::bind),
    polls(Sysno::poll),
    polls(Sysno::ppoll),
    // Memory.
    call(Sysno::mmap).fd(4).asks(1).flags(Flags::Protection(2)),
    call(Sysno::munmap).memory(0).asks(1),
    call(Sysno::mprotect).memory(0).asks(1).flags(Flags::Protection(2)),
    call(Sysno::madvise).memory(0).asks(1).flags(Flags::Advice(2)),
    call(Sysno::mremap).memory(0).asks(2),
    call(Sysno::msync).memory(0).asks(1),
    call(Sysno::mlock).memory(0).asks(1),
    call(Sysno::brk).memory(0),
    // Threads.
    call(Sysno::clone).flags(Flags::Clone(0)),
    call(Sysno::clone3),
    // What a thread waits in by choice.
    waits(Sysno::futex).memory(0).flags(Flags::Futex(1)),
    waits(Sysno::futex_waitv),
    waits(Sysno::nanosleep),
    waits(Sysno::clock_nanosleep),
    waits(Sysno::pause),
    waits(Sysno::select),
    waits(Sysno::pselect6),
    waits(Sysno::epoll_wait).fd(0),
    waits(Sysno::epoll_pwait).fd(0),
    waits(Sysno::epoll_pwait2).fd(0),
    waits(Sysno::rt_sigtimedwait),
    waits(Sysno::rt_sigsuspend),
    waits(Sysno::restart_syscall),
    waits(Sysno::io_getevents),
    waits(Sysno::io_uring_enter),
    waits(Sysno::wait4),
    waits(Sysno::waitid),
    waits(Sysno::sched_yield),
    waits(Sysno::semtimedop),
    waits(Sysno::mq_timedreceive),
];

/// What is known of a call.
pub(super) fn find(number: u16) -> Option<&'static Call> {
    CALLS.iter().find(|call| call.number.id() == i32::from(number))
}

/// The name of a call: "write", or "syscall 500" for one that is younger than the list of names.
pub(super) fn name(number: u16) -> String {
    Sysno::new(usize::from(number)).map_or_else(|| format!("syscall {number}"), |call| call.name().to_owned())
}

/// The number of a call.
pub(super) fn number(name: &str) -> Option<u16> {
    u16::try_from(name.parse::<Sysno>().ok()?.id()).ok()
}

/// Refuses the name of a call that Linux does not have on this machine, with those that may have
/// been meant.
///
/// # Errors
/// A sentence for the user.
pub fn check_name(name: &str) -> Result<(), String> {
    if number(name).is_some() {
        return Ok(());
    }
    let names: Vec<String> = Sysno::iter().map(|call| call.name().to_owned()).collect();
    Err(format!("there is no system call {name:?} on this machine{}", similar_names(name, "", &names)))
}

/// What the program in the kernel gets of a call. `wanted`: names that the user asked for, which
/// are reported alone and whatever they are on.
pub(super) fn shape(number: u16, wanted: Option<&[u16]>) -> call_shape {
    let plain = Call { report: Report::Files, ..call(Sysno::read) };
    let call = find(number).unwrap_or(&plain);
    let report = match wanted {
        None => call.report,
        Some(wanted) if wanted.contains(&number) => Report::Always,
        Some(_) => Report::Never,
    };
    let place = |index: Option<usize>| index.map_or(0, |index| index as u8 + 1);
    call_shape {
        report: report as u8,
        fd: place(call.fd),
        path: place(call.path),
        dirfd: place(call.dirfd),
        address: place(call.address),
        result_is_fd: call.result_is_fd.into(),
        polls: call.polls.into(),
        pad: 0,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_call_stands_once_and_its_arguments_are_among_six() {
        for (i, call) in CALLS.iter().enumerate() {
            assert!(CALLS[..i].iter().all(|other| other.number != call.number), "{:?} twice", call.number);
            let places = [call.fd, call.path, call.dirfd, call.address, call.bytes, call.memory];
            assert!(places.into_iter().flatten().all(|index| index < 6), "{call:?}");
        }
    }

    #[test]
    fn waits_by_choice_are_only_counted_unless_they_are_asked_for() {
        let futex = number("futex").unwrap();
        assert_eq!(shape(futex, None).report, 0);
        assert_eq!(shape(futex, Some(&[futex])).report, 3);
        assert_eq!(shape(number("write").unwrap(), Some(&[futex])).report, 0);
        let opens = call_shape { report: 1, path: 2, dirfd: 1, result_is_fd: 1, ..call_shape::default() };
        assert_eq!(shape(number("openat").unwrap(), None), opens);
        assert_eq!(
            (number("no such call"), name(1), name(511)),
            (None, "write".into(), "syscall 511".into())
        );
    }
}
