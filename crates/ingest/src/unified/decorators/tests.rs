use super::*;

fn apart(line: &str) -> Decorated<'_> {
    take_apart(line.as_bytes(), &mut Before::default())
}

#[test]
fn the_default_decorations() {
    let line = apart("[0.691s][info][gc,phases   ] GC(0)   Other: 0.2ms");
    assert_eq!(line.stamps.uptime_ns, Some(691_000_000));
    assert_eq!(line.tags, b"gc,phases");
    assert_eq!(line.body, b"GC(0)   Other: 0.2ms");
    assert_eq!(line.set, set::UPTIME | set::LEVEL | set::TAGS);
}

#[test]
fn all_decorations_at_once() {
    let line = apart(
        "[1970-01-01T00:00:01.000+0000][1970-01-01T00:00:01.000+0000][0.016s][1790000000000ms][16ms]\
         [4086917123456ns][16048123ns][my-host.example][4711][4712][warning][codecache] CodeCache is full.",
    );
    assert_eq!(line.stamps.wall_ns, Some(1_000_000_000));
    assert_eq!(line.stamps.uptime_ns, Some(16_048_123), "the finest uptime");
    assert_eq!(line.stamps.nanos, Some(4_086_917_123_456));
    assert_eq!(line.numbers, [Some(4711), Some(4712)]);
    assert_eq!((line.level, line.tags), (Level::Warning, &b"codecache"[..]));
    assert_eq!(line.body, b"CodeCache is full.");
}

#[test]
fn any_subset_of_decorations() {
    assert_eq!(apart("GC(0) Pause Young").set, 0);
    assert_eq!(apart("GC(0) Pause Young").body, b"GC(0) Pause Young");
    assert_eq!(apart("[info ][gc] x").set, set::LEVEL | set::TAGS);
    assert_eq!(apart("[gc] x").set, set::TAGS);
    assert_eq!(apart("[12][gc,start] x").numbers, [Some(12), None]);
    assert_eq!(apart("[1790000000000ms] x").stamps.wall_ns, Some(1_790_000_000_000_000_000));
    assert_eq!(apart("[15ms] x").stamps.uptime_ns, Some(15_000_000));
    assert_eq!(apart("[0,105s] x").stamps.uptime_ns, Some(105_000_000));
    assert_eq!(apart("[10.0.0.7][info][gc] x").set, set::HOSTNAME | set::LEVEL | set::TAGS);
    assert_eq!(apart("[myhost][gc] x").set, set::HOSTNAME | set::TAGS);
}

#[test]
fn ids_of_threads_are_padded_to_the_longest_of_them() {
    let line =
        apart("[2026-10-28T10:45:28.100+0800][0.702s][3212][9748 ][info][gc,start     ] GC(0) Pause Young");
    assert_eq!(line.numbers, [Some(3212), Some(9748)]);
    assert_eq!((line.tags, line.body), (&b"gc,start"[..], &b"GC(0) Pause Young"[..]));
    assert_eq!(apart("[9.999s ][15320][gc] x").stamps.uptime_ns, Some(9_999_000_000));
    assert_eq!(apart("[9748 ] GC(0) Pause Young").numbers, [Some(9748), None]);
}

#[test]
fn what_the_line_before_began_with_changes_nothing() {
    let lines = [
        "[1970-01-01T00:00:01.000+0000][0.016s][4711][info][gc,start] a",
        "[1970-01-01T00:00:01.000+0000][0.016s][4711][info][gc] b",
        "[1970-01-01T00:00:01.000+0000][0.016s][4711][4712][info][gc] c",
        "[1970-01-01T00:00:01.000+0000][0.016s][4711] d",
        "[1970-01-01T00:00:01.000+0000][0.017s][4711][host][gc] e",
        "[gc] f",
        "[0.1s] [0.1s][info][gc] g",
        "[0.1s][host][info][gc] h",
        "[0.1s][other][info][gc] i",
        "[16ms][1790000000000ms][my-host][debug][gc] [16ms] j",
        "[info][gc] k",
        "l",
        "",
    ];
    for before in lines {
        for line in lines {
            let mut known = Before::default();
            take_apart(before.as_bytes(), &mut known);
            assert_eq!(take_apart(line.as_bytes(), &mut known), apart(line), "after {before}");
        }
    }
}

#[test]
fn a_body_that_begins_with_a_bracket_is_left_alone() {
    assert_eq!(apart("[0.1s][info][gc] [a] b").body, b"[a] b");
    assert_eq!(apart("[0.1s][info][gc] [a] b").tags, b"gc");
    assert_eq!(apart("[not closed").body, b"[not closed");
    assert_eq!(apart("[]").set, 0);
    assert_eq!(apart("[ERROR] Failed to execute goal").set & (set::LEVEL | set::TAGS), 0);
}
