//! What stays of an object that is attached: its links, and the maps that are read or written here.
//!
//! An object has a file descriptor for each of its maps, its programs and its types. Links keep the
//! programs in the kernel, and those the maps, so that the object itself can go. That is a fourth
//! of all descriptors of a recording: the maps of the unwinder alone are open in each object that
//! walks stacks.

/// `Attached` of a skeleton, with these of its maps.
macro_rules! attached {
    ($skel:ident, $all_maps:ident, $links:ident: $($map:ident),+ $(,)?) => {
        /// The maps that are read or written here.
        pub(super) struct Maps {
            $(pub(super) $map: libbpf_rs::MapHandle),+
        }

        /// The object as it is when it is attached (`bpf/attached.rs`).
        pub(super) struct Attached {
            pub(super) maps: Maps,
            #[allow(dead_code, reason = "held for as long as the programs are to run")]
            pub(super) links: skeleton::$links,
        }

        impl Attached {
            /// Of an object whose programs are attached, or handed to others.
            pub(super) fn of(mut loaded: skeleton::$skel<'_>) -> libbpf_rs::Result<Self> {
                let all: &skeleton::$all_maps<'_> = &loaded.maps;
                let maps = Maps { $($map: libbpf_rs::MapHandle::try_from(&all.$map)?),+ };
                Ok(Self { maps, links: std::mem::take(&mut loaded.links) })
            }
        }
    };
}
pub(crate) use attached;
