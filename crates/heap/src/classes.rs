//! Classes: their names, fields and sizes.

use rustc_hash::FxHashMap;

use crate::numbers::NONE;
use crate::records::width;

/// Superclasses of a class that are followed; a chain that is longer, or runs in a circle, is cut.
const DEEPEST: usize = 256;

/// A field of instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name, a text's identifier.
    pub name: u64,
    /// Its type: 2 a reference, 4 to 11 primitive.
    pub kind: u8,
}

/// A class.
#[derive(Clone, Debug)]
pub struct Class {
    /// As Java writes it: "java.util.HashMap$Node", "byte[]". The number at the end of a hidden
    /// class's name is left out, so that the lambdas of one class count together.
    pub name: String,
    /// Whether it is hidden (before JDK 15: anonymous to the JVM): its loader does not find it.
    pub hidden: bool,
    /// Its identifier; 0 for the arrays of primitive values.
    pub address: u64,
    /// Its own object.
    pub node: u32,
    /// The same where its instances hold it: one that holds itself needs nobody.
    pub held_by_instances: u32,
    /// Its superclass.
    pub parent: u32,
    /// The identifier of its loader; 0 is the boot loader.
    pub loader: u64,
    /// Its own fields, in the order of their values.
    pub fields: Vec<Field>,
    /// Where references are among the values of its own fields, bytes.
    pub references: Vec<u32>,
    /// Bytes of the values of its own fields.
    pub own_bytes: u32,
    /// Bytes of an instance in the heap.
    pub instance_bytes: u64,
    /// Bytes of the values of its static fields that are no references.
    pub static_bytes: u64,
    /// Its static fields that are references.
    pub static_references: u64,
    /// What kind of `java.lang.ref.Reference` it is.
    pub strength: Option<Strength>,
}

/// How strongly a `Reference` holds what it refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strength {
    /// Until memory runs short.
    Soft,
    /// Not at all.
    Weak,
    /// Not at all.
    Phantom,
    /// Until `finalize()` has run.
    Final,
}

/// All classes. 0 to 11 are reserved: 4 to 11 are the arrays of primitive values.
#[derive(Debug)]
pub struct Classes {
    all: Vec<Class>,
    by_id: FxHashMap<u64, u32>,
}

impl Default for Classes {
    /// Those of arrays of primitive values.
    fn default() -> Self {
        let names = ["boolean", "char", "float", "double", "byte", "short", "int", "long"];
        let mut all = vec![Class::named(String::new(), 0); 4];
        all.extend(names.iter().map(|name| Class::named(format!("{name}[]"), 0)));
        Self { all, by_id: FxHashMap::default() }
    }
}

impl Classes {
    /// The most that can be distinguished: an object's entry has 24 bits for its class.
    pub const MOST: usize = 1 << 24;

    /// The number of a class by its identifier; it is given one when it is new. `None`: there are
    /// too many.
    pub fn intern(&mut self, id: u64) -> Option<u32> {
        if let Some(class) = self.by_id.get(&id) {
            return Some(*class);
        }
        let class = self.all.len() as u32;
        if self.all.len() >= Self::MOST {
            return None;
        }
        self.all.push(Class::named(format!("(class {id:#x}, whose name is not in the dump)"), id));
        self.by_id.insert(id, class);
        Some(class)
    }

    /// By identifier.
    pub fn of_id(&self, id: u64) -> Option<u32> {
        self.by_id.get(&id).copied()
    }

    /// By number.
    pub fn get(&self, class: u32) -> &Class {
        &self.all[class as usize]
    }

    /// The same, to fill in.
    pub fn get_mut(&mut self, class: u32) -> &mut Class {
        &mut self.all[class as usize]
    }

    /// How many numbers there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Numbers and classes.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Class)> {
        self.all.iter().enumerate().map(|(number, class)| (number as u32, class))
    }

    /// All of a name: loaders may define one each.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = u32> + 'a {
        self.iter().filter(move |(_, class)| class.name == name).map(|(number, _)| number)
    }

    /// A class and its superclasses, upward.
    pub fn chain(&self, class: u32) -> impl Iterator<Item = (u32, &Class)> {
        let mut next = class;
        (0..DEEPEST).map_while(move |_| {
            let class = self.all.get(next as usize)?;
            let number = std::mem::replace(&mut next, class.parent);
            Some((number, class))
        })
    }

    /// Whether a class is one of a name, or below it.
    pub fn is_a(&self, class: u32, name: &str) -> bool {
        self.chain(class).any(|(_, class)| class.name == name)
    }

    /// Fields with where their values are in an instance, and the class that declares them: its own
    /// first, then those of its superclasses.
    pub fn fields(&self, class: u32, id_size: usize) -> impl Iterator<Item = (usize, Field, u32)> + '_ {
        let mut at = 0;
        let chain =
            self.chain(class).flat_map(|(number, class)| class.fields.iter().map(move |f| (*f, number)));
        chain.map(move |(field, number)| {
            let here = at;
            at += width(field.kind, id_size).unwrap_or(0);
            (here, field, number)
        })
    }

    /// Says of each class what sort of `Reference` it is.
    pub fn find_references(&mut self) {
        let strengths: Vec<Option<Strength>> = (0..self.all.len() as u32)
            .map(|class| {
                self.chain(class).find_map(|(_, class)| match class.name.as_str() {
                    "java.lang.ref.SoftReference" => Some(Strength::Soft),
                    "java.lang.ref.WeakReference" => Some(Strength::Weak),
                    "java.lang.ref.PhantomReference" => Some(Strength::Phantom),
                    "java.lang.ref.FinalReference" => Some(Strength::Final),
                    _ => None,
                })
            })
            .collect();
        self.all.iter_mut().zip(strengths).for_each(|(class, strength)| class.strength = strength);
    }
}

impl Class {
    fn named(name: String, address: u64) -> Self {
        Self {
            name,
            hidden: false,
            address,
            node: NONE,
            held_by_instances: NONE,
            parent: NONE,
            loader: 0,
            fields: Vec::new(),
            references: Vec::new(),
            own_bytes: 0,
            instance_bytes: 0,
            static_bytes: 0,
            static_references: 0,
            strength: None,
        }
    }

    /// Adds a field of instances.
    pub fn add_field(&mut self, field: Field, id_size: usize) {
        if field.kind == 2 {
            self.references.push(self.own_bytes);
        }
        self.own_bytes = self.own_bytes.saturating_add(width(field.kind, id_size).unwrap_or(0) as u32);
        self.fields.push(field);
    }

    /// Its package; that of an array is its elements'.
    pub fn package(&self) -> &str {
        let name = self.name.trim_end_matches("[]");
        if self.is_array() && !name.contains('.') && is_of_the_jdk(&self.name) {
            return "(arrays of primitive values)";
        }
        name.rfind('.').map_or("", |dot| &name[..dot])
    }

    /// Its name without the package: "HashMap$Node[]".
    pub fn short(&self) -> &str {
        short(&self.name)
    }

    /// Whether it belongs to the JDK: what is below it says who uses it.
    pub fn is_of_the_jdk(&self) -> bool {
        is_of_the_jdk(&self.name)
    }

    /// Whether its instances are arrays.
    pub fn is_array(&self) -> bool {
        self.name.ends_with("[]")
    }
}

/// A class's name without its package.
pub fn short(name: &str) -> &str {
    name.rfind('.').map_or(name, |dot| &name[dot + 1..])
}

/// Whether a class of this name belongs to the JDK. Arrays of primitive values do.
pub fn is_of_the_jdk(name: &str) -> bool {
    let jdk = ["java.", "javax.", "jdk.", "sun.", "com.sun."].iter().any(|start| name.starts_with(start));
    jdk || !name.trim_end_matches("[]").contains(['.', '$'])
        && name.ends_with("[]")
        && name.starts_with(char::is_lowercase)
}

/// "java/util/HashMap$Node" or "[[I" as Java writes it.
pub fn java_name(internal: &str) -> String {
    let dimensions = internal.bytes().take_while(|byte| *byte == b'[').count().min(255);
    let element = &internal[dimensions..];
    let element = match (dimensions, element) {
        (0, name) => name,
        (_, "Z") => "boolean",
        (_, "C") => "char",
        (_, "F") => "float",
        (_, "D") => "double",
        (_, "B") => "byte",
        (_, "S") => "short",
        (_, "I") => "int",
        (_, "J") => "long",
        (_, name) => name.strip_prefix('L').and_then(|name| name.strip_suffix(';')).unwrap_or(name),
    };
    format!("{}{}", without_number(element).replace('/', "."), "[]".repeat(dimensions))
}

/// Whether a class of such a name, as the JVM has it, is a hidden one.
pub fn is_hidden(internal: &str) -> bool {
    !internal.starts_with('[') && without_number(internal).len() < internal.len()
}

/// The name of a hidden class without its number: "Foo$$Lambda+0x0000…", "Foo$$Lambda/0x0000…",
/// "Foo$$Lambda$3/1234" (JDK 8).
fn without_number(name: &str) -> &str {
    let Some((start, number)) = name.rsplit_once(['/', '+']) else { return name };
    let digits = number.strip_prefix("0x").unwrap_or(number);
    let hidden =
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) && digits.len() > 3;
    if hidden && number.starts_with(|first: char| first.is_ascii_digit()) { start } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_java() {
        let names = [
            "java/util/HashMap$Node",
            "[[I",
            "[Ljava/lang/String;",
            "[",
            "a/F$$Lambda+0x00007f01",
            "B$$L$1/41359092",
        ];
        let java = ["java.util.HashMap$Node", "int[][]", "java.lang.String[]", "[]", "a.F$$Lambda", "B$$L$1"];
        assert_eq!(names.map(java_name), java);
        assert_eq!(names.map(is_hidden), [false, false, false, false, true, true]);
        assert!(
            is_of_the_jdk("byte[]") && is_of_the_jdk("java.lang.String[]") && !is_of_the_jdk("Cache$Entry[]")
        );
        assert!(!is_of_the_jdk("javassist.Loader") && !is_of_the_jdk("Cache"));
    }

    #[test]
    fn a_circle_of_superclasses_ends() {
        let mut classes = Classes::default();
        let (a, b) = (classes.intern(7).unwrap(), classes.intern(8).unwrap());
        classes.get_mut(a).parent = b;
        classes.get_mut(b).parent = a;
        assert_eq!(classes.chain(a).count(), DEEPEST);
        assert!(!classes.is_a(a, "java.lang.Thread"));
    }
}
