//! Fields that lead to a class by its name, and to its static fields.

use super::{Field, Static, group};

group! {
    /// All classes of all loaders
    /// (src/hotspot/share/classfile/{classLoaderDataGraph,classLoaderData}.hpp, oops/klass.hpp).
    ClassLayout {
        /// `ClassLoaderData*`: the newest loader; that of the JDK's own classes is the last.
        loaders: Static = ["ClassLoaderDataGraph._head"];
        /// `ClassLoaderData`: the next one.
        next_loader: Field = ["ClassLoaderData._next"];
        /// `ClassLoaderData`: its newest class.
        classes: Field = ["ClassLoaderData._klasses"];
        /// `Klass`: the next class of its loader.
        next_class: Field = ["Klass._next_link"];
        /// `Klass`: its `java.lang.Class`, a handle.
        mirror: Field = ["Klass._java_mirror"];
        /// `Klass`: the size of its objects, or how those of an array follow from its length.
        layout_helper: Field = ["Klass._layout_helper"];
    }
}
