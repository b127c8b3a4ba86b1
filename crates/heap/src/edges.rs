//! What a reference is, in words: the field, the array's index, the local variable.

use serde::Serialize;

use crate::cursor::{Cursor, ids};
use crate::heap::Heap;
use crate::records::tag;

/// How an object refers to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Edge {
    /// A field of an instance.
    Field {
        /// Its name.
        name: String,
    },
    /// A static field of a class.
    Static {
        /// The class.
        class: String,
        /// The field's name.
        name: String,
    },
    /// An element of an array.
    Index {
        /// Its index.
        index: u64,
    },
    /// A thread's local variable or a stack slot.
    Local {
        /// The method, where the dump has it: "org.example.Main.run(Main.java:7)".
        frame: Option<String>,
    },
    /// A loader holds its classes.
    Defines,
    /// A class holds its superclass, its loader, its constants.
    OfClass,
    /// An object holds its class.
    InstanceOf,
}

impl Heap {
    /// How one object refers to another.
    pub fn edge(&self, from: u32, to: u32) -> Edge {
        let id_size = self.header.id_size;
        let address = self.address(to);
        let plain = match self.tag(from) {
            tag::INSTANCE => self.field_to(from, address).map(|name| Edge::Field { name }),
            tag::OBJECT_ARRAY => {
                let index = ids(self.payload(from), id_size).position(|id| id == address);
                index.map(|index| Edge::Index { index: index as u64 })
            }
            tag::CLASS => self.static_to(from, address),
            _ => None,
        };
        plain.unwrap_or_else(|| self.untold(from, to))
    }

    fn field_to(&self, from: u32, address: u64) -> Option<String> {
        let id_size = self.header.id_size;
        let payload = self.payload(from);
        let mut fields = self.classes.fields(self.class_number(from), id_size);
        let (_, field, _) = fields.find(|(at, field, _)| {
            let value = || Cursor::new(payload, *at).id(id_size);
            field.kind == 2 && value() == Some(address)
        })?;
        Some(self.text(field.name))
    }

    fn static_to(&self, from: u32, address: u64) -> Option<Edge> {
        let statics = self.statics(from);
        let found = statics
            .iter()
            .find(|(_, kind, bytes)| *kind == 2 && ids(bytes, self.header.id_size).next() == Some(address));
        let class = || self.as_class(from).map_or_else(String::new, |class| class.name.clone());
        match found {
            Some((name, ..)) => match self.text(*name) {
                // What the JVM keeps with a class is listed as if it were a static field.
                own if own.starts_with('<') => Some(Edge::OfClass),
                name => Some(Edge::Static { class: class(), name }),
            },
            None => Some(Edge::OfClass),
        }
    }

    fn untold(&self, from: u32, to: u32) -> Edge {
        let local = self.roots.iter().find(|root| root.thread == from && root.node == to);
        if let Some(root) = local {
            return Edge::Local { frame: self.frame_of(from, root.frame) };
        }
        if self.class_number(from) != u32::MAX && self.class(from).node == to {
            Edge::InstanceOf
        } else {
            Edge::Defines
        }
    }

    /// A frame of a thread in words.
    pub fn frame_of(&self, thread: u32, frame: Option<u32>) -> Option<String> {
        let thread = self.threads.iter().find(|known| known.node == thread)?;
        self.frame(*thread.frames.get(frame? as usize)?)
    }
}
