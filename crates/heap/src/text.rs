//! The texts of a dump: names of classes, methods, fields and files. They stay in the dump; kept is
//! where.

use rustc_hash::FxHashMap;

/// More bytes of a text are not shown: names are shorter, and a dump may claim anything.
const LONGEST: usize = 1 << 12;

/// Where the texts are.
#[derive(Debug, Default)]
pub struct Texts(FxHashMap<u64, (u64, u32)>);

impl Texts {
    /// Takes one.
    pub fn add(&mut self, id: u64, at: usize, bytes: usize) {
        self.0.insert(id, (at as u64, bytes.min(LONGEST) as u32));
    }

    /// The bytes of one.
    pub fn bytes<'a>(&self, data: &'a [u8], id: u64) -> Option<&'a [u8]> {
        let (at, bytes) = *self.0.get(&id)?;
        data.get(at as usize..(at + u64::from(bytes)) as usize)
    }

    /// One, with a sign for what is no UTF-8 (the JVM's own form of it differs for characters
    /// beyond the first 65,536).
    pub fn get(&self, data: &[u8], id: u64) -> Option<String> {
        self.bytes(data, id).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }
}
