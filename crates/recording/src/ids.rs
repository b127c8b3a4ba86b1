//! Dense ids of one recording. Newtypes, so that an index into one table cannot be used on another.

/// Defines a newtype over a dense, zero-based table index.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into its table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(/// A string of the dictionary ([`crate::Strings`]).
    StrId);
id!(/// A row of the spans table.
    SpanId);
id!(/// A series (its points are rows of the series-points table).
    SeriesId);
id!(/// A process; for JVMs, one run of a JVM.
    ProcessId);
id!(/// A thread of a process.
    ThreadId);
id!(/// A collector or a file (one run within it) that fed the recording.
    SourceId);
id!(/// A frame: a method, function or address with its type.
    FrameId);
id!(/// A node of the stack prefix tree: parent and frame.
    StackId);
