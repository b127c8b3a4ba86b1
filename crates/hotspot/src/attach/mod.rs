//! Asking a running JVM: a client of HotSpot's attach protocol, the one that `jcmd` and `jstack`
//! use.
//!
//! ```text
//!   .java_pidN in its /tmp? ──no──▶ create .attach_pidN ─▶ SIGQUIT ─▶ wait for the socket ─▶ remove .attach_pidN
//!            │ yes                                                          │
//!            ▼                                                              ▼
//!         connect (as the JVM's user) ─▶ is the JVM itself listening? ─▶ request ─▶ reply until it closes
//! ```
//!
//! Works into containers: the id is that of the JVM's own pid namespace, and files are those of its
//! mount namespace.
//!
//! What it costs the JVM: a signal and a thread on the first contact ("Attach Listener", which
//! stays), and a socket file that the JVM itself keeps until it ends. The risk: SIGQUIT ends a
//! process that does not catch it. It is sent only to a process that has libjvm mapped and catches
//! it, through a descriptor that cannot come to mean another process.
//!
//! Source: `attachListener_posix.cpp` and `VirtualMachineImpl.java` of JDK 8 to 25.

mod call;
mod credentials;
mod wire;

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, statat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

pub use crate::error::AttachError;
use crate::find::Kind;
use crate::proc_status::ProcStatus;
use crate::root::Root;
use crate::{Error, Result};
use call::Call;
use wire::Request;

/// How long to wait for a JVM: the same as `jcmd` (`sun.tools.attach.attachTimeout`).
pub const PATIENCE: Duration = Duration::from_secs(10);
/// Longest reply kept, bytes: a dump of ten thousand threads has some 30 MB.
const LONGEST_REPLY: u64 = 256 << 20;
/// Pause between two looks for the socket.
const LOOK: Duration = Duration::from_millis(20);

/// A JVM that can be asked. No connection is kept open between two requests.
#[derive(Debug)]
pub struct Attach {
    pid: u32,
    /// The status of the process when it was found: its start time distinguishes it from a later
    /// process with the same pid.
    status: ProcStatus,
    tmp: OwnedFd,
    patience: Duration,
}

impl Attach {
    /// Connects to a JVM; calls it first if it does not listen yet.
    pub fn to(pid: u32) -> Result<Self> {
        Self::with_patience(pid, PATIENCE)
    }

    /// Like [`Attach::to`], with another limit on how long to wait for the JVM, for the contact and
    /// for each answer.
    pub fn with_patience(pid: u32, patience: Duration) -> Result<Self> {
        let status = ProcStatus::of(pid)?;
        if status.has_ended() {
            return Err(Error::NoProcess { pid });
        }
        let own = rustix::process::geteuid();
        if !own.is_root() && own.as_raw() != status.uid {
            return Err(AttachError::NotYours { pid, uid: status.uid }.into());
        }
        match Kind::of(pid)? {
            Kind::HotSpot { .. } => {}
            other => return Err(other.why_not_attach(pid)),
        }
        let attach = Self { pid, status, tmp: Root::of(pid)?.tmp()?, patience };
        if own.is_root() {
            attach.remove_socket_left_by_another_user()?;
        }
        attach.as_its_user(|| attach.make_listen())??;
        Ok(attach)
    }

    /// The JVM's process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The status of the process when it was attached to.
    pub fn status(&self) -> &ProcStatus {
        &self.status
    }

    /// Its `/tmp`, in its own mount namespace.
    pub fn tmp(&self) -> io::Result<OwnedFd> {
        self.tmp.try_clone()
    }

    /// Whether the process that was attached to is still there.
    pub fn is_alive(&self) -> bool {
        let now = ProcStatus::of(self.pid);
        now.is_ok_and(|now| now.start_ticks == self.status.start_ticks && !now.has_ended())
    }

    /// Sends one command and returns the text of the answer.
    pub fn execute(&self, command: &str, arguments: &[&str]) -> Result<String> {
        self.execute_within(self.patience, command, arguments)
    }

    /// Like [`Attach::execute`], with its own limit on how long the answer may take.
    pub fn execute_within(&self, patience: Duration, command: &str, arguments: &[&str]) -> Result<String> {
        let request = Request { command, arguments };
        let version = self.version_for(&request)?;
        Ok(self.ask(patience, &request, version)?)
    }

    /// Runs something as the JVM's user, where this is root.
    pub fn as_its_user<T: Send>(&self, act: impl FnOnce() -> T + Send) -> Result<T> {
        let (uid, gid) = (self.status.uid, self.status.gid);
        credentials::acting_as(uid, gid, act)
            .map_err(AttachError::system(format!("acting as uid {uid}")))
            .map_err(Error::from)
    }

    /// The lowest version of the protocol that can express a request.
    fn version_for(&self, request: &Request<'_>) -> Result<u8> {
        if request.is_sayable() {
            if request.fits_version_1() {
                return Ok(1);
            }
            // JVMs before 24 refuse the question, and so do those whose version 2 is switched off.
            let question = Request { command: "getversion", arguments: &["options"] };
            let answer = self.ask(self.patience, &question, 1).unwrap_or_default();
            if answer.split_whitespace().next() == Some("2") {
                return Ok(2);
            }
        }
        Err(AttachError::TooLong { command: request.command.to_owned() }.into())
    }

    fn ask(&self, patience: Duration, request: &Request<'_>, version: u8) -> Result<String, AttachError> {
        let bytes = request.bytes(version);
        let deadline = Instant::now() + patience;
        let (uid, gid) = (self.status.uid, self.status.gid);
        let socket = credentials::acting_as(uid, gid, || self.connect(deadline))
            .map_err(AttachError::system(format!("acting as uid {uid}")))??;
        let socket = socket.ok_or(AttachError::Ended { pid: self.pid })?;
        let answer = exchange(socket, &bytes, deadline).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => AttachError::Timeout {
                pid: self.pid,
                what: format!("answer {}", request.command),
                waited: patience,
            },
            _ => AttachError::system(format!("the socket of JVM {}", self.pid))(error),
        })?;
        match wire::reply(&answer) {
            Some((0, text)) => Ok(text),
            Some((status, text)) => Err(AttachError::Refused { command: shown_as(request), status, text }),
            None if !self.is_alive() => Err(AttachError::Ended { pid: self.pid }),
            None => Err(AttachError::NoReply {
                pid: self.pid,
                command: request.command.to_owned(),
                bytes: answer.len(),
            }),
        }
    }

    /// Makes sure that the JVM listens.
    fn make_listen(&self) -> Result<(), AttachError> {
        let deadline = Instant::now() + self.patience;
        if self.connect(deadline)?.is_some() {
            call::remove_left(&self.tmp, &self.status);
            return Ok(());
        }
        if self.is_disabled() {
            return Err(AttachError::Disabled { pid: self.pid });
        }
        let mut call = Call::make(self.pid, &self.status, &self.tmp)?;
        let again = Instant::now() + self.patience / 2;
        while Instant::now() < deadline {
            std::thread::sleep(LOOK);
            if self.connect(deadline)?.is_some() {
                return Ok(());
            }
            if !self.is_alive() {
                return Err(AttachError::Ended { pid: self.pid });
            }
            if Instant::now() > again {
                call.repeat_once()?;
            }
        }
        Err(AttachError::Timeout { pid: self.pid, what: "open its socket".to_owned(), waited: self.patience })
    }

    /// Whether the command line forbids attaching: the signal would only make the JVM print its
    /// threads.
    fn is_disabled(&self) -> bool {
        let arguments = crate::find::arguments(self.pid);
        let option = arguments.iter().rev().find_map(|a| a.strip_suffix("DisableAttachMechanism"));
        option == Some("-XX:+")
    }

    /// Removes the socket of an earlier JVM with the same pid that ran as another user. The JVM
    /// puts its own socket in that place by `rename`, which a sticky `/tmp` forbids for a file of
    /// somebody else's, so that it would never listen. A JVM that is killed leaves its socket, and
    /// in containers that keep `/tmp` every JVM has the same pid.
    fn remove_socket_left_by_another_user(&self) -> Result<(), AttachError> {
        let name = self.socket_name();
        let stat = match statat(&self.tmp, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_socket() => stat,
            _ => return Ok(()),
        };
        // A socket that somebody listens at is kept: it is reported as an impostor. Nothing is
        // waited for.
        if stat.st_uid != self.status.uid && self.connect(Instant::now())?.is_none() {
            rustix::fs::unlinkat(&self.tmp, &name, AtFlags::empty()).map_err(self.failed_at(&name))?;
        }
        Ok(())
    }

    /// The socket that the JVM listens at, in its `/tmp`.
    fn socket_name(&self) -> String {
        format!(".java_pid{}", self.status.own_pid())
    }

    fn failed_at(&self, name: &str) -> impl Fn(Errno) -> AttachError + use<> {
        let what = format!("{name} of JVM {}", self.pid);
        move |errno| AttachError::system(what.clone())(errno)
    }

    /// A connection to the JVM itself. `None`: nobody listens.
    fn connect(&self, deadline: Instant) -> Result<Option<UnixStream>, AttachError> {
        let name = self.socket_name();
        let failed = self.failed_at(&name);
        match statat(&self.tmp, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_socket() => {}
            Ok(_) | Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(failed(errno)),
        }
        // Through our descriptor of its /tmp: the path of a socket may have 107 bytes, and this one
        // is short.
        let path = format!("/proc/thread-self/fd/{}/{name}", self.tmp.as_raw_fd());
        let address = SocketAddrUnix::new(path).map_err(&failed)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let socket = socket.map_err(&failed)?;
        loop {
            match rustix::net::connect(&socket, &address) {
                Ok(()) => break,
                // Left by an earlier JVM with this pid, or removed between the two checks.
                Err(Errno::CONNREFUSED | Errno::NOENT) => return Ok(None),
                // Its queue is full: five others wait (`listen` in attachListener_posix.cpp).
                Err(Errno::AGAIN | Errno::INTR) if Instant::now() < deadline => std::thread::sleep(LOOK),
                Err(errno) => return Err(failed(errno)),
            }
        }
        let peer = peer(&socket).map_err(AttachError::system("the socket"))?;
        if peer.uid != self.status.uid || u32::try_from(peer.pid) != Ok(self.pid) {
            return Err(AttachError::Impostor { pid: self.pid, peer: peer.pid, uid: peer.uid });
        }
        let socket = UnixStream::from(socket);
        socket.set_nonblocking(false).map_err(AttachError::system("the socket"))?;
        Ok(Some(socket))
    }
}

/// Who listens at the other end. Its pid is 0 if it lives in a pid namespace that we cannot see.
fn peer(socket: &OwnedFd) -> io::Result<libc::ucred> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut size = size_of::<libc::ucred>() as libc::socklen_t;
    let fd = socket.as_raw_fd();
    // SAFETY: the kernel writes at most `size` bytes into `peer`, which is of that size and lives
    // on.
    let got = unsafe {
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut peer).cast(), &raw mut size)
    };
    if got == 0 { Ok(peer) } else { Err(io::Error::last_os_error()) }
}

/// Sends a request and reads until the JVM closes.
fn exchange(mut socket: UnixStream, request: &[u8], deadline: Instant) -> io::Result<Vec<u8>> {
    let left = || {
        let left = deadline.saturating_duration_since(Instant::now());
        // A limit of zero would mean no limit.
        Some(left.max(Duration::from_millis(1)))
    };
    socket.set_write_timeout(left())?;
    match socket.write_all(request) {
        // A JVM that refuses the version answers before it has read all.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        written => written?,
    }
    let mut answer = Vec::new();
    let mut part = [0; 16 << 10];
    while (answer.len() as u64) < LONGEST_REPLY {
        if Instant::now() >= deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(left())?;
        match socket.read(&mut part) {
            Ok(0) => break,
            Ok(bytes) => answer.extend(&part[..bytes]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A JVM closes with what it did not read still in the socket; its answer came before.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break,
            Err(error) => return Err(error),
        }
    }
    Ok(answer)
}

/// A request as messages show it: "jcmd VM.version".
fn shown_as(request: &Request<'_>) -> String {
    let first = request.arguments.first().and_then(|argument| argument.split_whitespace().next());
    [Some(request.command), first].into_iter().flatten().collect::<Vec<_>>().join(" ")
}
