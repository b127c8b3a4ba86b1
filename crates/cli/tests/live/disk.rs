//! A file system in a file, whose disk stands still when a test says so.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The file system, below `mnt`; goes away with the test.
pub struct Disk {
    place: PathBuf,
}

/// Whether a command that says nothing here succeeds.
fn succeeds(command: &mut Command) -> bool {
    let done = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}

impl Disk {
    /// `None`, loudly, where it cannot be made.
    pub fn make(dir: &Path) -> Option<Self> {
        let (image, place) = (dir.join("image"), dir.join("mnt"));
        std::fs::create_dir(&place).unwrap();
        std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
        if succeeds(Command::new("mkfs.ext4").arg("-qF").arg(&image))
            && succeeds(Command::new("mount").args(["-o", "loop"]).args([&image, &place]))
        {
            return Some(Self { place });
        }
        fathom_testing::skip("no file system can be made in a file here (mkfs.ext4, mount -o loop)");
        None
    }

    /// Holds whoever writes to it up for as long as what it returns is kept; `None`, loudly, where
    /// that cannot be. Who is held up cannot even be killed: so it is kept behind the program, to
    /// be let go of first, also by a test that fails.
    pub fn freeze(&self) -> Option<Frozen<'_>> {
        if succeeds(Command::new("fsfreeze").arg("-f").arg(&self.place)) {
            return Some(Frozen(self));
        }
        fathom_testing::skip("fsfreeze does not work here");
        None
    }

    /// Holds whoever writes to it back until what it wrote is on the disk, but for a little;
    /// whether that can be.
    pub fn hold_writers_back(&self) -> bool {
        let device = Command::new("mountpoint").arg("-d").arg(&self.place).output();
        let device = device.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        let limits = Path::new("/sys/class/bdi").join(device.unwrap_or_default());
        let written = std::fs::write(limits.join("strict_limit"), "1")
            .and_then(|()| std::fs::write(limits.join("max_bytes"), "1048576"));
        if let Err(error) = &written {
            fathom_testing::skip(&format!(
                "in part: writers cannot be held back: {}: {error}",
                limits.display()
            ));
        }
        written.is_ok()
    }
}

/// A disk that stands still.
pub struct Frozen<'a>(&'a Disk);

impl Frozen<'_> {
    /// Lets those who write go on.
    #[track_caller]
    pub fn thaw(self) {
        let place = &self.0.place;
        assert!(succeeds(Command::new("fsfreeze").arg("-u").arg(place)));
        // It is not frozen any more.
        std::mem::forget(self);
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        succeeds(Command::new("fsfreeze").arg("-u").arg(&self.0.place));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        succeeds(Command::new("fsfreeze").arg("-u").arg(&self.place));
        succeeds(Command::new("umount").arg("-l").arg(&self.place));
    }
}
