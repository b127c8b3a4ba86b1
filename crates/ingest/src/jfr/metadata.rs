//! The types of a chunk, as its metadata event describes them.
//!
//! ```text
//! metadata event ─▶ strings ─▶ tree of elements: root ─┬─ metadata ─ class* ─┬─ field* ─ annotation*
//!                                                      └─ region             └─ setting*, annotation*
//! ```
//!
//! Numeric ids of types differ between JVMs, between JDK and async-profiler and between chunks of
//! one file: a type is identified by its name only, and everything here holds for one chunk.

use std::borrow::Cow;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::bytes::Bytes;

/// How deep elements are nested: root, metadata, class, field, annotation.
const DEPTH: u32 = 8;
/// Elements and strings of one metadata event. JDK 25 has some 9,000 elements and 5,000 strings.
const MOST: usize = 1 << 20;
/// Bytes of a description that is cached; JDK 25 has some 100,000.
const LARGEST: usize = 4 << 20;

/// A type of a chunk.
#[derive(Debug, Default)]
pub(super) struct Class {
    pub(super) name: String,
    pub(super) fields: Vec<Field>,
    /// Whether other events of the chunk need those of this kind.
    pub(super) comes_first: bool,
}

/// A field of a type.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    /// The numeric id of its type in this chunk.
    pub(super) class: u64,
    /// Whether it holds a key into the constant pool of its type.
    pub(super) pool: bool,
    pub(super) array: bool,
    pub(super) unit: Unit,
}

/// The unit of an integer field, by its annotations (`jdk.jfr.Timestamp`, `jdk.jfr.Timespan`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Unit {
    /// A plain number.
    #[default]
    None,
    /// A time in ticks of the chunk's clock.
    TickStamp,
    /// A duration in ticks.
    TickSpan,
    /// A time or a duration: nanoseconds per unit.
    Nanos(i64),
}

/// All types of a chunk.
#[derive(Debug, Default)]
pub(super) struct Types {
    pub(super) classes: Vec<Class>,
    by_id: FxHashMap<u64, u32>,
    /// The same for small ids, which nearly all are: looked up twice with each event.
    by_small_id: Vec<Option<u32>>,
    /// Index of the type of strings.
    pub(super) strings: Option<u32>,
}

/// Ids up to here are small. JDK 25 has some 600 types, and numbers them in order.
const SMALL: u64 = 4096;

impl Types {
    /// Index of the type with a numeric id.
    #[inline]
    pub(super) fn index(&self, id: u64) -> Option<u32> {
        match self.by_small_id.get(id as usize) {
            Some(index) if id < SMALL => *index,
            _ => self.by_id.get(&id).copied(),
        }
    }

    fn add(&mut self, id: u64, class: Class) {
        let index = self.classes.len() as u32;
        if class.name == "java.lang.String" {
            self.strings = self.strings.or(Some(index));
        }
        self.by_id.insert(id, index);
        if id < SMALL {
            let room = self.by_small_id.len().max(id as usize + 1);
            self.by_small_id.resize(room, None);
            self.by_small_id[id as usize] = Some(index);
        }
        self.classes.push(class);
    }

    /// The type at an index.
    pub(super) fn class(&self, index: u32) -> Option<&Class> {
        self.classes.get(index as usize)
    }

    /// The type with a numeric id.
    pub(super) fn by_id(&self, id: u64) -> Option<&Class> {
        self.class(self.index(id)?)
    }

    /// Reads strings and elements of a metadata event. `None`: they are damaged.
    fn read(mut body: Bytes<'_>) -> Option<Self> {
        let count = body.length()?;
        let mut strings: Vec<Cow<'_, str>> = Vec::with_capacity(count.min(MOST));
        for _ in 0..count.min(MOST) {
            strings.push(body.text()?.in_place().unwrap_or_default());
        }
        let mut tree = Tree { strings: &strings, left: MOST };
        let root = tree.element(&mut body, 0)?;
        let metadata = root.children.iter().find(|e| e.name == "metadata")?;
        let classes = || metadata.children.iter().filter(|e| e.name == "class");
        let mut types = Self::default();
        let mut names: FxHashMap<u64, &str> = FxHashMap::default();
        for class in classes() {
            names.insert(class.number("id")?, class.text("name")?);
        }
        for class in classes() {
            let (id, name) = (class.number("id")?, class.text("name")?.to_owned());
            let fields = class.children.iter().filter(|e| e.name == "field");
            let fields = fields.map(|f| field(f, &names)).collect::<Option<Vec<_>>>()?;
            let comes_first = comes_first(&name);
            types.add(id, Class { name, fields, comes_first });
        }
        (!types.classes.is_empty()).then_some(types)
    }
}

/// The types that were read last: a JVM describes those of its next chunk by the same bytes, unless
/// the program has defined new ones.
#[derive(Default)]
pub(super) struct Described(Option<(Vec<u8>, bool, Rc<Types>)>);

impl Described {
    /// Reads the body of a metadata event: what follows its size and type. `None`: it is damaged.
    pub(super) fn types(&mut self, mut body: Bytes<'_>) -> Option<Rc<Types>> {
        let (_start, _duration, _id) = (body.long()?, body.long()?, body.long()?);
        let (described, compressed) = (body.rest(), body.compressed);
        match &self.0 {
            Some((known, how, types)) if known == described && *how == compressed => {
                return Some(types.clone());
            }
            _ => {}
        }
        let types = Rc::new(Types::read(body)?);
        if described.len() <= LARGEST {
            self.0 = Some((described.to_vec(), compressed, types.clone()));
        }
        Some(types)
    }
}

fn field(element: &Element<'_>, names: &FxHashMap<u64, &str>) -> Option<Field> {
    let annotations = element.children.iter().filter(|e| e.name == "annotation");
    let unit = annotations.filter_map(|a| unit(names.get(&a.number("class")?)?, a.text("value")?)).next();
    Some(Field {
        name: element.text("name")?.to_owned(),
        class: element.number("class")?,
        pool: element.text("constantPool") == Some("true"),
        array: element.text("dimension").is_some_and(|d| d != "0"),
        unit: unit.unwrap_or_default(),
    })
}

fn unit(annotation: &str, value: &str) -> Option<Unit> {
    Some(match (annotation, value) {
        ("jdk.jfr.Timestamp", "TICKS") => Unit::TickStamp,
        ("jdk.jfr.Timespan", "TICKS") => Unit::TickSpan,
        ("jdk.jfr.Timestamp", "MILLISECONDS_SINCE_EPOCH") => Unit::Nanos(1_000_000),
        ("jdk.jfr.Timestamp", "NANOSECONDS_SINCE_EPOCH") => Unit::Nanos(1),
        ("jdk.jfr.Timespan", "NANOSECONDS") => Unit::Nanos(1),
        ("jdk.jfr.Timespan", "MICROSECONDS") => Unit::Nanos(1_000),
        ("jdk.jfr.Timespan", "MILLISECONDS") => Unit::Nanos(1_000_000),
        ("jdk.jfr.Timespan", "SECONDS") => Unit::Nanos(1_000_000_000),
        _ => return None,
    })
}

/// An element of the tree.
struct Element<'s> {
    name: &'s str,
    attributes: Vec<(&'s str, &'s str)>,
    children: Vec<Element<'s>>,
}

impl<'s> Element<'s> {
    fn text(&self, key: &str) -> Option<&'s str> {
        self.attributes.iter().find(|(k, _)| *k == key).map(|(_, value)| *value)
    }

    fn number(&self, key: &str) -> Option<u64> {
        let text = self.text(key)?;
        text.parse::<u64>().ok().or_else(|| text.parse::<i64>().ok().map(|n| n as u64))
    }
}

/// The parts of elements, and how many more there may be.
struct Tree<'s> {
    strings: &'s [Cow<'s, str>],
    left: usize,
}

impl<'s> Tree<'s> {
    fn string(&self, body: &mut Bytes<'_>) -> Option<&'s str> {
        let index = usize::try_from(body.int()?).ok()?;
        self.strings.get(index).map(Cow::as_ref)
    }

    /// Counts something against the limit of one metadata event.
    fn spend(&mut self) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        Some(())
    }

    fn element(&mut self, body: &mut Bytes<'_>, depth: u32) -> Option<Element<'s>> {
        self.spend()?;
        let name = self.string(body)?;
        let mut attributes = Vec::new();
        for _ in 0..body.length()? {
            self.spend()?;
            attributes.push((self.string(body)?, self.string(body)?));
        }
        let mut children = Vec::new();
        for _ in 0..body.length()? {
            if depth >= DEPTH {
                return None;
            }
            children.push(self.element(body, depth + 1)?);
        }
        Some(Element { name, attributes, children })
    }
}

/// Kinds that other events of their chunk need, wherever they are: settings, and the identity of
/// the run.
fn comes_first(name: &str) -> bool {
    matches!(name, "jdk.ActiveSetting" | "jdk.JVMInformation")
}
