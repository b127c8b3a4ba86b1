use std::io::Read;
use std::path::Path;

use base64::Engine as _;
use fathom_heap::report::{About, Picture};
use fathom_heap::{Kept, Referents};
use serde_json::Value;

use super::*;

const EVIL: &str = "</script><script>alert(1)</script><!--\u{2028}\u{202e}\x1b[2J";

fn picture() -> Picture {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../heap/fixtures/small.hprof");
    let heap = fathom_heap::read(&path, Referents::AsAll, None).unwrap();
    let kept = Kept::of(&heap);
    Picture::of(&heap, &kept, About::of(&heap, Path::new("small.hprof"), true))
}

fn page(picture: &Picture) -> String {
    let mut out = Vec::new();
    html(picture, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The header of a page, and its columns.
fn read(page: &str) -> (Value, Vec<Vec<i64>>) {
    let text = page.split_once("id=\"fathom-heap\">").unwrap().1.split_once('<').unwrap().0;
    let packed = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
    let mut bytes = Vec::new();
    flate2::read::DeflateDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
    let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
    let mut at = 4 + length;
    let columns = header["columns"].as_array().unwrap().iter().map(|column| {
        let size = column["bytes"].as_u64().unwrap() as usize;
        let block = &bytes[at..at + size];
        at += size;
        column_of(block, column["as"].as_str().unwrap(), column["n"].as_u64().unwrap() as usize)
    });
    let columns = columns.collect();
    (header, columns)
}

fn column_of(block: &[u8], coding: &str, n: usize) -> Vec<i64> {
    if coding == "planes" {
        return (0..n)
            .map(|i| block.iter().skip(i).step_by(n).rev().fold(0, |sum, byte| sum << 8 | i64::from(*byte)))
            .collect();
    }
    let mut values: Vec<i64> = Vec::new();
    let (mut value, mut shift) = (0_u64, 0);
    for byte in block {
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            let step = (value >> 1) as i64 ^ -((value & 1) as i64);
            let last = values.last().copied().unwrap_or(0);
            values.push(if coding == "delta" { last + step } else { value as i64 });
            (value, shift) = (0, 0);
        }
    }
    values
}

#[test]
fn what_nodes_own_and_fold_adds_up_to_all_that_can_be_reached() {
    let picture = picture();
    let (header, columns) = read(&page(&picture));
    let column = |part: &str, name: &str| &columns[header[part][name].as_u64().unwrap() as usize];
    let (own, folded) = (column("tree", "own"), column("tree", "folded_bytes"));
    let sum: i64 = own.iter().chain(folded).sum();
    assert_eq!(sum, header["size"]["bytes"].as_i64().unwrap());
    let parents = column("tree", "parent");
    assert_eq!(parents[0], -1);
    assert!(parents.iter().enumerate().skip(1).all(|(at, parent)| (*parent as usize) < at));
    let low = &columns[header["tree"]["address"]["low"].as_u64().unwrap() as usize];
    let high = &columns[header["tree"]["address"]["high"].as_u64().unwrap() as usize];
    let addresses: Vec<u64> =
        low.iter().zip(high).map(|(low, high)| (*high as u64) << 32 | *low as u64).collect();
    assert_eq!(addresses, picture.nodes.iter().map(|node| node.address).collect::<Vec<_>>());
}

#[test]
fn the_first_screen_is_that_of_the_terminal() {
    let picture = picture();
    let (header, _) = read(&page(&picture));
    let terminal = super::super::screen(&picture.screen, 15).replace(['\n', ' '], "");
    let squeezed = |text: &Value| text.as_str().unwrap().replace(' ', "");
    assert!(
        terminal.contains(&squeezed(&header["headline"])) && terminal.contains(&squeezed(&header["about"]))
    );
    for note in header["notes"].as_array().unwrap() {
        assert!(terminal.contains(&squeezed(note)), "{note}");
    }
    let holder = &header["holders"][0];
    assert!(
        terminal.contains(&squeezed(&holder["judged"])) && holder["node"].is_u64() && holder["way"].is_u64()
    );
}

#[test]
fn nothing_from_a_dump_can_leave_its_script_element_and_long_names_are_cut() {
    let mut picture = picture();
    picture.nodes[1].name = EVIL.to_owned();
    picture.screen.classes[0].name = EVIL.to_owned();
    picture.screen.about.file = EVIL.to_owned();
    picture.steps[0].class = "x".repeat(1_000_000);
    let page = page(&picture);
    let (before, after) = TEMPLATE.split_once(MARKER).unwrap();
    let data = page.strip_prefix(before).unwrap().strip_suffix(after).unwrap();
    assert_eq!((data.matches("<script").count(), data.matches("</script").count()), (1, 1));
    assert!(!data.contains("<!--") && data.len() < 100_000, "{}", data.len());
    let (header, _) = read(&page);
    assert!(header["names"][1].as_str().unwrap().contains("</script>") && header["file"] != "");
    assert!(!header["names"][1].as_str().unwrap().contains('\u{202e}'));
}

#[test]
fn rows_that_are_left_out_are_counted() {
    let mut picture = picture();
    let one = picture.screen.classes[0].clone();
    picture.screen.classes = vec![one; MOST_CLASSES + 7];
    let (header, columns) = read(&page(&picture));
    assert_eq!(columns[header["classes"]["name"].as_u64().unwrap() as usize].len(), MOST_CLASSES);
    assert_eq!(header["classes"]["left_out"], 7);
    let each = picture.screen.classes[0].sum.objects;
    assert_eq!(header["classes"]["left_out_objects"], 7 * each);
}

#[test]
fn the_template_loads_nothing_and_says_so_in_its_policy() {
    assert_eq!(TEMPLATE.matches(MARKER).count(), 1);
    assert!(TEMPLATE.contains("default-src 'none'"));
    assert!(!TEMPLATE.contains("unsafe-inline") && !TEMPLATE.contains("src=\""));
}
