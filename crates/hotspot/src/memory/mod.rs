//! Reading memory of another process, or of a capture of one.
//!
//! Nothing that is read is trusted: the caller bounds a length before it reads, and every read may
//! fail at any time because the process goes on running, frees what was there, and ends.

mod captured;
mod paged;
mod process;

pub use captured::{Capture, Captured};
pub use paged::Paged;
pub use process::ProcessMemory;

pub use crate::error::Unreadable;

/// Memory that can be read by address. All numbers are little-endian, as on x86-64 and AArch64.
pub trait Memory {
    /// Fills `into` with what lies at `address`; all of it or an error.
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable>;

    /// One byte.
    fn read_u8(&self, address: u64) -> Result<u8, Unreadable> {
        Ok(u8::from_le_bytes(self.read_array(address)?))
    }

    /// Four bytes as a number.
    fn read_u32(&self, address: u64) -> Result<u32, Unreadable> {
        Ok(u32::from_le_bytes(self.read_array(address)?))
    }

    /// Four bytes as a signed number.
    fn read_i32(&self, address: u64) -> Result<i32, Unreadable> {
        Ok(i32::from_le_bytes(self.read_array(address)?))
    }

    /// Eight bytes as a number: also every pointer.
    fn read_u64(&self, address: u64) -> Result<u64, Unreadable> {
        Ok(u64::from_le_bytes(self.read_array(address)?))
    }

    /// This many bytes as they are.
    fn read_array<const N: usize>(&self, address: u64) -> Result<[u8; N], Unreadable> {
        let mut bytes = [0; N];
        self.read(address, &mut bytes)?;
        Ok(bytes)
    }

    /// `length` bytes, which the caller has bounded.
    fn read_bytes(&self, address: u64, length: usize) -> Result<Vec<u8>, Unreadable> {
        let mut bytes = vec![0; length];
        self.read(address, &mut bytes)?;
        Ok(bytes)
    }

    /// A C string of at most `longest` bytes without its end; longer ones are truncated. What is
    /// not UTF-8 is replaced.
    fn read_c_string(&self, address: u64, longest: usize) -> Result<String, Unreadable> {
        let mut text = Vec::new();
        while text.len() < longest {
            let at = address.wrapping_add(text.len() as u64);
            // Not beyond the page: the next one may not be mapped.
            let piece = (64 - (at % 64) as usize).min(longest - text.len());
            let bytes = self.read_bytes(at, piece)?;
            match end_of(&bytes) {
                Some(end) => {
                    text.extend_from_slice(&bytes[..end]);
                    break;
                }
                None => text.extend_from_slice(&bytes),
            }
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

fn end_of(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == 0)
}

impl<M: Memory + ?Sized> Memory for &M {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        (**self).read(address, into)
    }
}

impl<M: Memory + ?Sized> Memory for std::rc::Rc<M> {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        (**self).read(address, into)
    }
}

impl<M: Memory + ?Sized> Memory for std::sync::Arc<M> {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        (**self).read(address, into)
    }
}
