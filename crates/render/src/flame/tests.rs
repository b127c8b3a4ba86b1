//! Pages, pictures and tables of a recording that tries to break out of them.

use std::io::Read;

use base64::Engine as _;
use fathom_diagnose::stacks::{Base, Flame, Normalisation, Selection, Shape, flame};
use fathom_recording::vocabulary::sample;
use fathom_recording::{FrameType, Process, Recording, Role, SampleRow, Sink, Source};

use super::*;

const S: i64 = 1_000_000_000;
const EVIL: &str = "</script><script>alert(1)</script><!--\u{2028}\u{202e}\x1b[2J]]>&\"'";

/// 100 s of samples: `main` calls `hot` and an evil name; `new` only in the second half.
fn recording() -> Recording {
    let mut r = Recording::new();
    let process = r.add_process(Process { name: EVIL.into(), ..Process::default() });
    let covers_ns = Some((0, 100 * S));
    let source = r.add_source(Source { name: EVIL.into(), covers_ns, ..Source::default() });
    let long = "x".repeat(1 << 20);
    let long_frame = r.frame(&long, "libx.so", FrameType::Native, 7);
    let thread = Some(r.thread(process, Some(1), EVIL, Role::App));
    for i in 0..1_000_i64 {
        let leaf = match i % 4 {
            _ if i >= 500 && i % 5 == 0 => ("new", FrameType::Interpreted, ""),
            0 => (EVIL, FrameType::Jvm, EVIL),
            1 => (long.as_str(), FrameType::Native, "libx.so"),
            _ => ("org.example.Orders.hot", if i % 3 == 0 { FrameType::C1 } else { FrameType::C2 }, ""),
        };
        let main = r.frame("org.example.Main.main", "", FrameType::C2, -1);
        let main = r.stack(None, main);
        let leaf = if leaf.0 == long { long_frame } else { r.frame(leaf.0, leaf.2, leaf.1, 7) };
        let stack = Some(r.stack(Some(main), leaf));
        let (kind, t_ns, weight) = (sample::CPU, i * S / 10, 10_000_000);
        r.sample(&SampleRow { kind, t_ns, process, thread, stack, weight, source });
    }
    r.seal();
    r
}

fn drawn(compared: bool) -> Flame {
    let select = |from: i64, to: i64| Selection {
        kind: sample::CPU.into(),
        windows: vec![fathom_diagnose::Window { from_ns: from * S, to_ns: to * S }],
        ..Selection::default()
    };
    let base = Base { selection: select(0, 50), normalisation: Normalisation::Wall };
    let shape = Shape { per_thread: true, lines: true };
    flame(&recording(), &select(50, 100), shape, compared.then_some(&base)).unwrap()
}

fn about(inverted: bool) -> About {
    About::of(&recording(), EVIL.into(), "role app".into(), inverted)
}

fn text(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn nothing_from_an_input_can_leave_the_page_s_script_element() {
    let flames = [drawn(true), drawn(false)];
    let page = text(|out| html(&flames, &about(false), out));
    let data = page.split_once("id=\"fathom-flame\">").unwrap().1.split_once("</script>").unwrap().0;
    assert!(data.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b)));
    assert!(!page.contains("alert(1)"));
    let packed = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
    let mut bytes = Vec::new();
    flate2::read::DeflateDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
    let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
    assert_eq!(header["schema"], "fathom.flame-page/1");
    assert_eq!(header["graphs"].as_array().unwrap().len(), 2);
    let names: Vec<&str> = header["names"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    assert!(names.iter().all(|n| n.chars().count() < 600), "a name of a megabyte is cut");
    assert!(
        names.iter().any(|n| n.contains("alert(1)") && n.contains("\\u{202e}")),
        "marks are shown as codes"
    );
}

#[test]
fn the_templates_load_nothing_and_say_so_in_their_policy() {
    let template = include_str!("../../assets/flame.html");
    assert_eq!(template.matches("<!--fathom:data-->").count(), 1);
    assert!(template.contains("default-src 'none'"));
    assert!(!template.contains("unsafe-inline") && !template.contains("src=\""));
}

#[test]
fn a_picture_is_well_formed_and_has_a_title_for_every_box() {
    for (compared, inverted) in [(false, false), (true, false), (true, true)] {
        let picture = text(|out| svg(&drawn(compared), &about(inverted), out));
        assert!(!picture.contains("<script"), "{compared} {inverted}");
        assert!(picture.chars().all(|c| c == '\n' || !crate::printable::is_active(c)));
        // Every element that is opened is closed, in order.
        let mut open = Vec::new();
        for tag in picture.split('<').skip(1) {
            let (tag, rest) = tag.split_once('>').unwrap();
            assert!(!rest.contains('>'), "{rest}");
            match tag.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop(), Some(name), "{tag}"),
                None if tag.ends_with('/') => {}
                None => open.push(tag.split(' ').next().unwrap()),
            }
        }
        assert!(open.is_empty());
        assert_eq!(picture.matches("<g>").count(), picture.matches("<g><title>").count());
        assert!(picture.matches("<g>").count() >= 5);
    }
}

#[test]
fn no_label_of_a_picture_leaves_its_box() {
    let picture = text(|out| svg(&drawn(false), &about(false), out));
    for group in picture.split("<g>").skip(1).filter(|g| g.contains("<text")) {
        let width: f64 = group.split_once("width=\"").unwrap().1.split_once('"').unwrap().0.parse().unwrap();
        let label =
            group.split_once("<text").unwrap().1.split_once('>').unwrap().1.split_once('<').unwrap().0;
        let label =
            label.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
        assert!(label.chars().count() as f64 * 6.65 <= width, "{label:?} in {width}");
    }
}

#[test]
fn the_table_tells_self_and_total_and_what_changed() {
    let table = top(&drawn(true), &about(false), TopOptions { most: 3, by: TopBy::Change }, 100);
    assert!(
        table.starts_with("cpu: 5.00 s in 500 samples, 50.0 s to 100.0 s\nrole app\nbaseline: 5.00 s"),
        "{table}"
    );
    let first = table.lines().find(|l| l.contains("new")).unwrap();
    assert!(first.contains("+1.00 s") && first.contains("int") && first.contains("20%"), "{table}");
    assert!(!table.contains('\x1b'));
    for columns in [60, 80, 100] {
        let table = top(&drawn(true), &about(false), TopOptions { most: 30, by: TopBy::Change }, columns);
        assert!(table.lines().all(|l| crate::text::width(l) <= columns), "{columns}\n{table}");
    }
    // Numbers have one minus sign wherever they are printed.
    let all = top(&drawn(true), &about(false), TopOptions { most: 30, by: TopBy::Change }, 100);
    assert!(all.contains(" -") && !all.contains('−'), "{all}");
    let plain = top(&drawn(false), &about(false), TopOptions { most: 10, by: TopBy::Total }, 100);
    let rows: Vec<&str> = plain.lines().filter(|l| l.contains('%')).skip(1).collect();
    assert!(rows[0].contains("org.example.Main.main") && rows[0].contains("100%"), "{plain}");
}

/// 100 s of samples: `caller` takes nothing itself, and with what it calls 1.2% of the samples of
/// the first half, 24% of those of the second.
fn called_more() -> Flame {
    let mut r = Recording::new();
    let process = r.add_process(Process::default());
    let source = r.add_source(Source { covers_ns: Some((0, 100 * S)), ..Source::default() });
    let thread = Some(r.thread(process, Some(1), "main", Role::App));
    let frames = ["main", "caller", "callee", "other"].map(|name| r.frame(name, "", FrameType::C2, -1));
    let main = r.stack(None, frames[0]);
    let caller = r.stack(Some(main), frames[1]);
    let stacks = [r.stack(Some(caller), frames[2]), r.stack(Some(main), frames[3])];
    for i in 0..10_000_i64 {
        let calls = if i < 5_000 { i % 250 < 3 } else { i % 25 < 6 };
        let (kind, t_ns, weight) = (sample::CPU, i * S / 100, 10_000_000);
        let stack = Some(stacks[usize::from(!calls)]);
        r.sample(&SampleRow { kind, t_ns, process, thread, stack, weight, source });
    }
    r.seal();
    let select = |from: i64, to: i64| Selection {
        kind: sample::CPU.into(),
        windows: vec![fathom_diagnose::Window { from_ns: from * S, to_ns: to * S }],
        ..Selection::default()
    };
    let base = Base { selection: select(0, 50), normalisation: Normalisation::Wall };
    flame(&r, &select(50, 100), Shape::default(), Some(&base)).unwrap()
}

#[test]
fn sorted_by_total_the_table_shows_the_inclusive_share_of_base_and_window_with_intervals() {
    let table = top(&called_more(), &about(false), TopOptions { most: 9, by: TopBy::Total }, 100);
    let row = table.lines().find(|l| l.ends_with(" caller")).unwrap();
    let [base, window] = row.split(" → ").collect::<Vec<_>>()[..] else { panic!("{table}") };
    let figures = |text: &str| -> Vec<f64> {
        text.split(['±', '%']).take(2).map(|n| n.trim().parse().unwrap()).collect()
    };
    let ([from, from_half], [to, to_half]) = (&figures(base)[..], &figures(window)[..]) else {
        panic!("{row}")
    };
    assert_eq!((*from, *to), (1.2, 24.0), "{table}");
    // By counting: 1.96 √(p (1 − p) / 5000).
    assert!((0.25..0.45).contains(from_half) && (1.1..1.4).contains(to_half), "{row}");
    assert!(row.contains("+11.40 s ±") && row.contains("more") && row.contains(" 0%"), "{row}");
    let narrow = top(&called_more(), &about(false), TopOptions { most: 9, by: TopBy::Total }, 80);
    let row = narrow.lines().find(|l| l.ends_with(" caller")).unwrap();
    assert!(row.contains("1.20% → 24.00%  +11.40 s ±"), "{narrow}");
    // Of its own weight there is nothing to show.
    let own = top(&called_more(), &about(false), TopOptions { most: 9, by: TopBy::Own }, 100);
    let row = own.lines().find(|l| l.ends_with(" caller")).unwrap();
    assert!(row.contains("0.00 ±") && !row.contains("more") && row.contains(" 24%"), "{own}");
}

#[test]
fn the_machine_s_form_has_shares_with_intervals() {
    let options = TopOptions { most: usize::MAX, by: TopBy::Total };
    let value = serde_json::to_value(json(&called_more(), options)).unwrap();
    let caller = value["frames"].as_array().unwrap().iter().find(|f| f["name"] == "caller").unwrap();
    let share = &caller["base"]["total_share"];
    assert_eq!((share["base"].as_f64(), share["window"].as_f64()), (Some(0.012), Some(0.24)));
    let ends = |v: &serde_json::Value| [v[0].as_f64().unwrap(), v[1].as_f64().unwrap()];
    let (base, window) = (ends(&share["base_interval"]), ends(&share["window_interval"]));
    assert!(base[0] > 0.0 && base[1] < window[0] && window[1] < 0.26, "{share}");
}

#[test]
fn the_machine_s_form_has_the_same_totals() {
    let flame = drawn(true);
    let value = serde_json::to_value(json(&flame, TopOptions { most: usize::MAX, by: TopBy::Own })).unwrap();
    assert_eq!(value["schema"], "fathom.flame/1");
    assert_eq!(value["total"], 5 * S);
    let own: i64 = value["tree"]["self"].as_array().unwrap().iter().map(|v| v.as_i64().unwrap()).sum();
    assert_eq!(own, 5 * S);
    let frames: i64 = value["frames"].as_array().unwrap().iter().map(|f| f["self"].as_i64().unwrap()).sum();
    assert_eq!(frames, 5 * S);
    let new = value["frames"].as_array().unwrap().iter().find(|f| f["name"] == "new:7").unwrap();
    assert_eq!(new["base"]["self_verdict"], "more");
}
