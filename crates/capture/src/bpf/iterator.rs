//! Programs that the kernel runs once for each thing of a kind when they are read: iterators
//! (`bpf_iter`, Linux 5.8; over the files of one process: Linux 6.1).

use std::io::{self, Read};
use std::ptr::NonNull;

use libbpf_rs::{AsRawLibbpf, Iter, Link, ProgramMut};
use libbpf_sys::{bpf_iter_attach_opts, bpf_iter_link_info, bpf_iter_link_info__bindgen_ty_3};

/// Bytes that are read at a time.
const PIECE: usize = 64 << 10;

/// A program that is run for each file, or thread, of one process whenever it is read. It hangs on
/// a descriptor of this process.
pub(crate) struct OfProcess(Link);

impl OfProcess {
    /// Attaches a program of the kind `iter/task_file` or `iter/task`.
    #[allow(unsafe_code, reason = "libbpf-rs has no way to give an iterator a process")]
    pub(crate) fn attach(program: &ProgramMut<'_>, pid: i32) -> io::Result<Self> {
        let task = bpf_iter_link_info__bindgen_ty_3 { pid: pid.cast_unsigned(), tid: 0, pid_fd: 0 };
        let mut info = bpf_iter_link_info { task };
        let options = bpf_iter_attach_opts {
            sz: size_of::<bpf_iter_attach_opts>() as _,
            link_info: &raw mut info,
            link_info_len: size_of::<bpf_iter_link_info>() as _,
            ..bpf_iter_attach_opts::default()
        };
        // SAFETY: the program is loaded and lives in `program`; the kernel copies the options.
        let link = unsafe {
            libbpf_sys::bpf_program__attach_iter(program.as_libbpf_object().as_ptr(), &raw const options)
        };
        // libbpf says in errno what went wrong where it gives no link.
        let link = NonNull::new(link).ok_or_else(io::Error::last_os_error)?;
        // SAFETY: libbpf just made it, and nobody else has it.
        Ok(Self(unsafe { Link::from_ptr(link) }))
    }

    /// Runs the program, and takes what it writes: `most` bytes at most.
    pub(crate) fn read(&self, most: usize) -> io::Result<Vec<u8>> {
        let mut written = Iter::new(&self.0).map_err(io::Error::other)?;
        let (mut all, mut piece) = (Vec::new(), vec![0; PIECE]);
        while all.len() < most {
            match written.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => all.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Its buffer was full in the middle of a file; it goes on with the next one.
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }
}
