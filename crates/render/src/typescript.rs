//! The types of what stands in the pages, as TypeScript in ui/src/generated/: the pages are
//! compiled against what is serialised here. `FATHOM_BLESS=1 cargo test -p fathom-render
//! typescript` writes them.
//!
//! A type is declared in the first file that needs it; the others import it from there.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use fathom_diagnose::stacks::NodeType;
use fathom_heap::report::Sort;
use serde::Serialize;
use ts_rs::{Config, TS, TypeVisitor};

/// A declared type.
struct Declared {
    file: &'static str,
    name: String,
    /// Its comment and its declaration.
    text: String,
    /// Places of the types that it names.
    uses: Vec<usize>,
}

/// All types of all files.
struct Types {
    config: Config,
    file: &'static str,
    constants: Vec<(&'static str, String)>,
    declared: Vec<Declared>,
    /// Places by declaration.
    known: HashMap<String, usize>,
}

impl Types {
    fn new() -> Self {
        Self {
            config: Config::new().with_large_int("number"),
            file: "",
            constants: Vec::new(),
            declared: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// Begins a file with what is serialised at the top.
    fn file<T: TS + 'static>(&mut self, file: &'static str) {
        self.file = file;
        self.add::<T>();
    }

    /// A constant of the file begun last.
    fn constant(&mut self, name: &str, value: &impl Serialize) {
        let value = serde_json::to_string(value).unwrap().replace(',', ", ");
        self.constants.push((self.file, format!("export const {name} = {value} as const;\n")));
    }

    /// Declares a type with all that it names; `None` for what TypeScript has itself.
    fn add<T: TS + 'static + ?Sized>(&mut self) -> Option<usize> {
        T::output_path()?;
        let declaration = T::decl(&self.config);
        if let Some(place) = self.known.get(&declaration) {
            return Some(*place);
        }
        let place = self.declared.len();
        let (file, name) = (self.file, T::ident(&self.config));
        let twice = self.declared.iter().any(|other| other.file == file && other.name == name);
        assert!(!twice, "{file} would have two types {name}: give one of them another name");
        let text =
            format!("{}export {}\n", comment(&T::docs().unwrap_or_default(), ""), laid_out(&declaration));
        self.known.insert(declaration, place);
        self.declared.push(Declared { file, name, text, uses: Vec::new() });
        let mut uses = Uses { types: self, places: Vec::new() };
        T::visit_dependencies(&mut uses);
        self.declared[place].uses = uses.places;
        Some(place)
    }

    /// The files by name.
    fn written(&self) -> BTreeMap<&'static str, String> {
        let mut files: BTreeMap<&'static str, String> = BTreeMap::new();
        let mut imports: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
        for declared in &self.declared {
            for used in declared.uses.iter().map(|place| &self.declared[*place]) {
                if used.file != declared.file {
                    imports.entry((declared.file, used.file)).or_default().insert(&used.name);
                }
            }
        }
        for Declared { file, .. } in &self.declared {
            files.entry(file).or_insert_with(|| {
                let head =
                    "// Generated from the code: `FATHOM_BLESS=1 cargo test -p fathom-render typescript`.\n";
                let mut text = head.to_owned();
                for ((_, from), names) in imports.iter().filter(|((to, _), _)| to == file) {
                    let names: Vec<&str> = names.iter().copied().collect();
                    text += &format!("\nimport type {{ {} }} from \"./{from}\";\n", names.join(", "));
                }
                for (_, constant) in self.constants.iter().filter(|(of, _)| of == file) {
                    text += &format!("\n{constant}");
                }
                text
            });
        }
        // In what order a type names others differs from build to build.
        let mut in_order: Vec<&Declared> = self.declared.iter().collect();
        in_order.sort_by_key(|declared| &declared.name);
        for Declared { file, text, .. } in in_order {
            *files.get_mut(file).unwrap() += &format!("\n{text}");
        }
        files
    }
}

/// Collects what a type names.
struct Uses<'t> {
    types: &'t mut Types,
    places: Vec<usize>,
}

impl TypeVisitor for Uses<'_> {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        self.places.extend(self.types.add::<T>());
    }
}

/// A comment of one line as one line.
fn comment(docs: &str, indent: &str) -> String {
    let lines: Vec<&str> =
        docs.lines().filter_map(|line| line.trim().strip_prefix('*')).filter(|line| *line != "/").collect();
    match lines[..] {
        [] => String::new(),
        [line] => format!("{indent}/**{line} */\n"),
        _ => {
            let lines: String = lines.iter().map(|line| format!("{indent} *{line}\n")).collect();
            format!("{indent}/**\n{lines}{indent} */\n")
        }
    }
}

/// A declaration with a line for each field of its object.
fn laid_out(declaration: &str) -> String {
    let Some((head, fields)) = declaration.split_once(" = { ") else { return declaration.to_owned() };
    let Some(fields) = fields.strip_suffix(" };") else { return declaration.to_owned() };
    let mut out = format!("{head} = {{\n");
    let mut rest = fields.trim();
    while !rest.is_empty() {
        if let Some((docs, after)) = rest.starts_with("/**").then(|| rest.split_once("*/")).flatten() {
            out += &comment(docs, "  ");
            rest = after.trim();
        }
        // The comma behind a field is the first outside of all brackets.
        let mut depth = 0;
        let end = rest.find(|c| {
            depth += i32::from("{[(<".contains(c)) - i32::from("}])>".contains(c));
            c == ',' && depth == 0
        });
        let (field, after) = rest.split_at(end.unwrap_or(rest.len()));
        out += &format!("  {field};\n");
        rest = after.trim_start_matches(',').trim();
    }
    out + "};"
}

fn types() -> Types {
    let mut types = Types::new();
    types.file::<fathom_diagnose::Diagnosis>("diagnosis");
    types.file::<crate::payload::Column>("payload");
    types.add::<crate::payload::ColumnId>();
    types.file::<crate::lanes::Header>("lanes");
    types.constant("LANES_SCHEMA", &crate::lanes::SCHEMA);
    types.file::<crate::samples::Header>("samples");
    types.constant("SAMPLES_SCHEMA", &crate::samples::SCHEMA);
    types.file::<crate::flame::page::Header>("flame");
    types.constant("FLAME_SCHEMA", &crate::flame::page::SCHEMA);
    types.constant("FRAME_TYPES", &NodeType::ALL);
    types.file::<crate::heap::page::Header>("heap");
    types.constant("HEAP_SCHEMA", &crate::heap::page::SCHEMA);
    types.constant("SORTS", &Sort::ALL);
    types.file::<crate::compare::page::Page<'static>>("compare");
    types.constant("COMPARE_SCHEMA", &crate::compare::page::SCHEMA);
    types.file::<crate::ServerState>("served");
    types
}

#[test]
fn the_types_of_the_pages_are_those_of_the_code() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../ui/src/generated");
    let files = types().written();
    if std::env::var_os("FATHOM_BLESS").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in &files {
            std::fs::write(folder.join(name).with_extension("ts"), text).unwrap();
        }
    }
    for (name, text) in &files {
        let written = std::fs::read_to_string(folder.join(name).with_extension("ts")).unwrap_or_default();
        assert!(written == *text, "ui/src/generated/{name}.ts is not current: run with FATHOM_BLESS=1");
    }
    let there = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let left: Vec<PathBuf> = there
        .filter(|path| path.file_stem().is_none_or(|stem| !files.contains_key(&*stem.to_string_lossy())))
        .collect();
    assert!(left.is_empty(), "no type of the code is in {left:?}");
}

#[test]
fn codes_are_places_in_the_lists_that_the_pages_read_them_by() {
    assert!(Sort::ALL.iter().enumerate().all(|(code, sort)| *sort as usize == code));
    assert!(NodeType::ALL.iter().enumerate().all(|(code, of)| *of as usize == code));
}

#[test]
fn fields_have_a_line_each_and_short_comments_one() {
    let declaration = "type A = { \n/**\n * Its name.\n */\nname: string, of: { [key in string]: B<C, D> }, end: [number, number], };";
    let expected = "type A = {\n  /** Its name. */\n  name: string;\n  of: { [key in string]: B<C, D> };\n  end: [number, number];\n};";
    assert_eq!(laid_out(declaration), expected);
    assert_eq!(laid_out("type A = \"b\" | \"c\";"), "type A = \"b\" | \"c\";");
}
