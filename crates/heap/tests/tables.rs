//! Tables of a small dump: rows by what is in them, and no values but where they belong.

#![allow(clippy::unwrap_used)]

mod small;

use std::collections::BTreeMap;
use std::io::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use fathom_heap::{Heap, Kept, Referents, Table, read};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use small::{ITEMS, dump, dump_as, id};

fn heap_of(data: &[u8]) -> (Heap, Kept) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(data).unwrap();
    let heap = read(file.path(), Referents::AsAll, None).unwrap();
    let kept = Kept::of(&heap);
    (heap, kept)
}

/// A table's rows as texts, by column.
fn rows((heap, kept): &(Heap, Kept), table: Table) -> Vec<BTreeMap<String, String>> {
    let file = tempfile::tempfile().unwrap();
    let count = table.write(heap, kept, file.try_clone().unwrap()).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let mut rows = Vec::new();
    for batch in reader {
        let batch = batch.unwrap();
        rows.extend((0..batch.num_rows()).map(|row| cells(&batch, row)));
    }
    assert_eq!(rows.len() as u64, count);
    rows
}

/// The cells of a row that are not null.
fn cells(batch: &RecordBatch, row: usize) -> BTreeMap<String, String> {
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns()).filter(|(_, column)| column.is_valid(row));
    let text = |column: &dyn Array| match column.as_string_opt::<i32>() {
        Some(texts) => texts.value(row).to_owned(),
        None => column.as_primitive_opt::<Int64Type>().map_or_else(String::new, |n| n.value(row).to_string()),
    };
    columns.map(|(field, column)| (field.name().clone(), text(column.as_ref()))).collect()
}

#[test]
fn an_object_is_there_with_its_sizes_and_who_keeps_it() {
    for data in [dump(), dump_as("1.0.1", 4)] {
        let heap = heap_of(&data);
        let objects = rows(&heap, Table::Objects);
        assert_eq!(objects.len() as u32, heap.0.len());
        let of = |address: u64| {
            objects
                .iter()
                .find(|row| row["object"] == address.to_string())
                .unwrap_or_else(|| panic!("{address:#x}"))
        };
        let array = of(id::ARRAY);
        assert_eq!((array["length"].as_str(), array["kind"].as_str()), ("40", "object-array"));
        assert_eq!((&array["class"][..], &array["dominator"]), ("java.lang.Object[]", &id::LIST.to_string()));
        let number = heap.1.number(heap.0.find(id::ARRAY).unwrap()).unwrap();
        assert_eq!(array["retained"], heap.1.retained(number).to_string());
        assert_eq!(of(id::THREAD)["root"], "thread");
        assert_eq!(of(id::CACHE)["describes"], "org.example.Cache");
        // What nothing reaches has no retained size.
        assert!(!of(id::GARBAGE).contains_key("retained") && of(id::GARBAGE).contains_key("shallow"));
        let sum = |name: &str| -> u64 {
            let reached = objects.iter().filter(|row| row.contains_key("retained"));
            reached.map(|row| row[name].parse::<u64>().unwrap()).sum()
        };
        assert_eq!(sum("shallow"), heap.1.reachable_bytes());
    }
}

#[test]
fn a_reference_says_by_what_it_is_one() {
    let heap = heap_of(&dump());
    let refs = rows(&heap, Table::Refs);
    let from = |source: u64| refs.iter().filter(move |row| row["source"] == source.to_string());
    let class = from(id::LIST).next().unwrap();
    assert_eq!((&class["via"][..], &class["target"]), ("instance-of", &0x1200.to_string()));
    let field = from(id::LIST).nth(1).unwrap();
    assert_eq!((&field["via"][..], &field["field"][..]), ("field", "elementData"));
    assert_eq!(field["target"], id::ARRAY.to_string());
    let elements: Vec<&str> =
        from(id::ARRAY).filter_map(|row| row.get("index").map(String::as_str)).collect();
    assert_eq!((elements.len() as u64, elements[39]), (ITEMS, "39"));
    let statics: Vec<&str> =
        from(id::CACHE).filter(|row| row["via"] == "static").map(|row| row["field"].as_str()).collect();
    assert_eq!(statics, ["items", "weak"]);
    let local = from(id::THREAD).find(|row| row["via"] == "local").unwrap();
    assert_eq!(local["target"], 0x3060.to_string());
    let roots = rows(&heap, Table::Roots);
    let frame = roots.iter().find(|row| row["kind"] == "java-frame").unwrap();
    assert_eq!(frame["thread"], id::THREAD.to_string());
    assert!(frame["frame"].ends_with("run(Cache.java:7)"), "{frame:?}");
}

#[test]
fn sums_of_classes_are_those_of_the_screen_and_values_are_only_in_their_tables() {
    let heap = heap_of(&dump());
    let classes = rows(&heap, Table::Classes);
    let cache = classes.iter().find(|row| row["class"] == "org.example.Cache").unwrap();
    assert_eq!((&cache["objects"], &cache["superclass"][..]), (&ITEMS.to_string(), "java.lang.Object"));
    for table in Table::ALL {
        let found = rows(&heap, table);
        // A name of a thread is a name.
        let is_there = found.iter().flat_map(|row| row.values()).any(|cell| cell == "worker");
        assert_eq!(is_there, table == Table::Threads || table == Table::Strings, "{}", table.name());
    }
    let fields = rows(&heap, Table::Fields);
    let size = fields.iter().find(|row| row["field"] == "size").unwrap();
    assert_eq!((&size["type"][..], &size["value"]), ("int", &ITEMS.to_string()));
}
