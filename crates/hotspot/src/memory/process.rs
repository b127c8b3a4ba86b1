//! Memory of a live process.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use super::{Memory, Unreadable};
use crate::{Error, Result};

/// The memory of a live process, by `process_vm_readv(2)`, or by `/proc/PID/mem` where that call is
/// refused (seccomp filters of containers, kernels built without it). Both need the right to trace
/// the process.
#[derive(Debug)]
pub struct ProcessMemory {
    pid: u32,
    /// Opened once, if the call was refused for another reason than a bad address.
    file: OnceLock<Option<File>>,
}

impl ProcessMemory {
    /// The memory of a process. Whether it may be read is tested on the first bytes of `probe`, an
    /// address that is known to be mapped.
    pub fn open(pid: u32, probe: u64) -> Result<Self> {
        let memory = Self { pid, file: OnceLock::new() };
        let Err(unreadable) = memory.read_u8(probe) else { return Ok(memory) };
        Err(match unreadable.errno {
            libc::ESRCH => Error::NoProcess { pid },
            libc::EPERM | libc::EACCES => {
                Error::NotAllowed { pid, why: io::Error::from_raw_os_error(unreadable.errno) }
            }
            _ => Error::Memory(unreadable),
        })
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// One call; how many bytes it filled, or the error number.
    fn read_once(&self, address: u64, into: &mut [u8]) -> std::result::Result<usize, i32> {
        let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
        let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: into.len() };
        // SAFETY: `local` describes `into`, which is exclusively ours for the call; the kernel
        // checks the remote side and never writes beyond `iov_len`.
        let read = unsafe { libc::process_vm_readv(self.pid as libc::pid_t, &local, 1, &remote, 1, 0) };
        usize::try_from(read).map_err(|_| io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
    }

    /// Like `read_once`, through `/proc/PID/mem`.
    fn read_file(&self, address: u64, into: &mut [u8]) -> std::result::Result<(), i32> {
        let file = self.file.get_or_init(|| File::open(format!("/proc/{}/mem", self.pid)).ok());
        let file = file.as_ref().ok_or(libc::EPERM)?;
        file.read_exact_at(into, address).map_err(|e| e.raw_os_error().unwrap_or(libc::EIO))
    }
}

impl Memory for ProcessMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> std::result::Result<(), Unreadable> {
        let mut done = 0;
        while done < into.len() {
            let at = address.wrapping_add(done as u64);
            let errno = match self.read_once(at, &mut into[done..]) {
                Ok(0) => libc::EFAULT,
                Ok(read) => {
                    done += read;
                    continue;
                }
                Err(libc::EINTR) => continue,
                // Refused altogether, unlike EFAULT (nothing mapped there) and ESRCH (gone).
                Err(refused @ (libc::EPERM | libc::ENOSYS)) => match self.read_file(at, &mut into[done..]) {
                    Ok(()) => return Ok(()),
                    Err(_) if refused == libc::EPERM => libc::EPERM,
                    Err(errno) => errno,
                },
                Err(errno) => errno,
            };
            return Err(Unreadable { address, length: into.len(), errno });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_memory_is_read_and_what_is_not_mapped_is_an_error() {
        let known: Vec<u8> = (0..100_000u32).map(|i| (i * 7) as u8).collect();
        let at = known.as_ptr() as u64;
        let memory = ProcessMemory::open(std::process::id(), at).unwrap();
        assert_eq!(memory.read_bytes(at, known.len()).unwrap(), known);
        let mut bytes = vec![0; known.len()];
        memory.read_file(at, &mut bytes).unwrap();
        assert_eq!(bytes, known);
        assert_eq!(memory.read_u64(8).unwrap_err().errno, libc::EFAULT);
        assert!(memory.read_u64(u64::MAX - 3).is_err());
    }

    #[test]
    fn a_process_that_is_gone_is_called_so() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert!(matches!(ProcessMemory::open(pid, 0x1000), Err(Error::NoProcess { .. })));
    }
}
