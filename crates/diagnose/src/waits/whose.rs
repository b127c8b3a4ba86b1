//! Whose methods a stack has: a thread that runs only a library's is not at the application's work.

/// Parts of a package's name that show whose it is.
const LIBRARY_PARTS: usize = 3;

/// Whose methods a stack has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// The JDK's alone, and native code.
    Jdk,
    /// And of one library.
    Library(u32),
    Several,
}

impl Whose {
    /// With a method of a library, by its number.
    pub(super) fn with(self, library: Option<u32>) -> Self {
        match (self, library) {
            (_, None) => self,
            (Self::Jdk, Some(library)) => Self::Library(library),
            (Self::Library(one), Some(other)) if one == other => self,
            _ => Self::Several,
        }
    }
}

/// The library that a method is of, by its package: "org.eclipse.jetty"; empty for what has no
/// package of two parts.
pub(super) fn library(name: &str) -> &str {
    let mut dots = name.match_indices('.').map(|(at, _)| at);
    // Packages begin with small letters; the method and its class are no part of one.
    let is_package = |at: &usize| {
        let part = name[..*at].rsplit('.').next().unwrap_or("");
        part.starts_with(|c: char| c.is_ascii_lowercase())
    };
    let mut end = None;
    for (i, at) in dots.by_ref().take(LIBRARY_PARTS).take_while(is_package).enumerate() {
        end = (i > 0).then_some(at);
    }
    end.map_or("", |end| &name[..end])
}
