//! One page of a dump, written as a stream: the sentence that says what keeps most, the dominator
//! tree as a picture, the ways from the roots, the tables. Read by ui/src/heap/decode.ts.
//!
//! Only names, counts and sizes are in it: a [`Picture`] has no values of texts, fields or arrays.
//! What a page can hold is bounded: nodes by [`Limits`](fathom_heap::report::Limits), rows of
//! tables here, names to 500 characters.

mod columns;

use std::io::{self, Write};

use fathom_heap::report::{Picture, Size};
use serde::Serialize;

use self::columns::{Dictionary, Rows, Steps, Tree};
use super::{holder, screen, tables, way};
use crate::flame::names::shown;
use crate::payload::Columns;

const TEMPLATE: &str = include_str!("../../assets/heap.html");
/// Where the data goes.
const MARKER: &str = "<!--fathom:data-->";
pub(crate) const SCHEMA: &str = "fathom.heap-page/1";
/// Rows of the tables; what is left out is counted.
const MOST_CLASSES: usize = 2000;
const MOST_GROUPS: usize = 500;
const MOST_ROWS: usize = 300;

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct Header {
    schema: &'static str,
    version: &'static str,
    file: String,
    headline: String,
    about: String,
    notes: Vec<String>,
    size: Size,
    least_bytes: u64,
    names: Vec<String>,
    texts: Vec<String>,
    tree: Tree,
    steps: Steps,
    holders: Vec<Held>,
    classes: Rows,
    packages: Rows,
    loaders: Rows,
    threads: Vec<Thread>,
    threads_left_out: usize,
    waste: Vec<Waste>,
    references: Vec<Counted>,
    buffers: Buffers,
    roots: Vec<Counted>,
}

/// A holder as the terminal shows it.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Held {
    sentence: String,
    judged: String,
    suspect: bool,
    accumulates_in: Option<String>,
    objects: u64,
    retained: u64,
    node: Option<u32>,
    way: Option<u32>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Thread {
    name: String,
    class: String,
    address: String,
    retained: u64,
    stack: u64,
    frame: String,
    frame_bytes: u64,
    top: String,
    node: Option<u32>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Waste {
    what: &'static str,
    count: u64,
    bytes: u64,
    meaning: &'static str,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Counted {
    what: String,
    count: u64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Buffers {
    title: String,
    owners: Vec<Owner>,
    unreachable: u64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Owner {
    name: String,
    count: u64,
    bytes: u64,
}

/// Writes the page of a dump.
pub fn html(picture: &Picture, out: &mut impl Write) -> io::Result<()> {
    let (before, after) =
        TEMPLATE.split_once(MARKER).expect("the build checks that the marker is there once");
    out.write_all(before.as_bytes())?;
    out.write_all(b"<script type=\"application/octet-stream\" id=\"fathom-heap\">")?;
    let mut columns = Columns::default();
    let header = header(picture, &mut columns);
    columns.write(&header, out)?;
    out.write_all(b"</script>")?;
    out.write_all(after.as_bytes())
}

fn header(picture: &Picture, columns: &mut Columns) -> Header {
    let on_screen = &picture.screen;
    let mut names = Dictionary::default();
    let mut texts = Dictionary::default();
    let tree = Tree::of(picture, &mut names, columns);
    let steps = Steps::of(&picture.steps, &mut names, &mut texts, columns);
    let classes = Rows::of(&on_screen.classes, MOST_CLASSES, &mut names, columns);
    let packages = Rows::of(&on_screen.packages, MOST_GROUPS, &mut names, columns);
    let loaders = Rows::of(&on_screen.loaders, MOST_GROUPS, &mut names, columns);
    Header {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        file: shown(&on_screen.about.file),
        headline: screen::headline(on_screen),
        about: screen::about(on_screen),
        notes: screen::notes(on_screen),
        size: on_screen.size,
        least_bytes: picture.limits.least_bytes,
        tree,
        steps,
        holders: held(picture),
        classes,
        packages,
        loaders,
        threads: threads(picture),
        threads_left_out: on_screen.threads.len().saturating_sub(MOST_ROWS),
        waste: waste(picture),
        references: counted(tables::reference_rows(on_screen, MOST_ROWS)),
        buffers: buffers(picture),
        roots: counted(on_screen.roots.iter().map(|roots| (way::root(roots.kind).to_owned(), roots.roots))),
        names: names.texts,
        texts: texts.texts,
    }
}

fn held(picture: &Picture) -> Vec<Held> {
    let reachable = picture.screen.size.bytes;
    let held = |(holder, (node, way)): (&fathom_heap::report::Holder, &(Option<u32>, Option<u32>))| Held {
        sentence: holder::sentence(holder, reachable),
        judged: holder::judged(holder),
        suspect: holder.suspicion.is_some(),
        accumulates_in: holder.accumulates_in.as_deref().map(shown),
        objects: holder.objects,
        retained: holder.retained_bytes,
        node: *node,
        way: *way,
    };
    picture.screen.holders.all.iter().zip(&picture.holders).map(held).collect()
}

fn threads(picture: &Picture) -> Vec<Thread> {
    let text = |text: &Option<String>| text.as_deref().map_or_else(String::new, shown);
    let kept_by = |(thread, node): (&fathom_heap::report::ThreadKeeps, &Option<u32>)| Thread {
        name: thread.name.as_deref().map_or_else(|| "?".to_owned(), shown),
        class: shown(&thread.class),
        address: format!("{:#x}", thread.address),
        retained: thread.retained_bytes,
        stack: thread.stack_bytes,
        frame: text(&thread.largest_frame),
        frame_bytes: thread.largest_frame_bytes,
        top: text(&thread.top_frame),
        node: *node,
    };
    picture.screen.threads.iter().zip(&picture.threads).take(MOST_ROWS).map(kept_by).collect()
}

fn waste(picture: &Picture) -> Vec<Waste> {
    let rows = tables::waste_rows(&picture.screen).into_iter();
    rows.map(|(what, count, bytes, meaning)| Waste { what, count, bytes, meaning }).collect()
}

fn buffers(picture: &Picture) -> Buffers {
    let buffers = &picture.screen.buffers;
    let owners = buffers.owners.iter().take(MOST_ROWS);
    Buffers {
        title: tables::buffers_title(&picture.screen),
        owners: owners
            .map(|(name, count, bytes)| Owner { name: shown(name), count: *count, bytes: *bytes })
            .collect(),
        unreachable: buffers.unreachable_bytes,
    }
}

fn counted(rows: impl IntoIterator<Item = (String, u64)>) -> Vec<Counted> {
    rows.into_iter().map(|(what, count)| Counted { what, count }).collect()
}

#[cfg(test)]
mod tests;
