//! Text laid out in columns: width as a terminal shows it, wrapping, cutting, bars.

use unicode_width::UnicodeWidthStr;

/// Columns that a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text with spaces after it up to `columns`.
pub fn left(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The text with spaces before it up to `columns`.
pub fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The text, cut to `columns` with an ellipsis where it is longer.
pub fn cut(text: &str, columns: usize, ellipsis: &str) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(width(ellipsis));
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if width(&kept) > room {
            kept.pop();
            break;
        }
    }
    format!("{}{ellipsis}", kept.trim_end())
}

/// The text broken into lines of at most `columns` at spaces; a word that is longer than a line is
/// broken inside. At least one line comes back.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ').filter(|w| !w.is_empty()) {
        let mut word_width = width(word);
        if used > 0 && used + 1 + word_width > columns {
            lines.push(String::new());
            used = 0;
        }
        let line = lines.last_mut().expect("there is always a line");
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        if used + word_width <= columns {
            line.push_str(word);
            used += word_width;
            continue;
        }
        // A name longer than the line: filled up character by character.
        for c in word.chars() {
            word_width = width(c.encode_utf8(&mut [0; 4]));
            if used > 0 && used + word_width > columns {
                lines.push(String::new());
                used = 0;
            }
            lines.last_mut().expect("there is always a line").push(c);
            used += word_width;
        }
    }
    lines
}

/// A bar of `columns` for a share of one: full blocks with an eighth-wide end, or signs of ASCII.
pub fn bar(share: f64, columns: usize, unicode: bool) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let eighths = (share * columns as f64 * 8.0).round() as usize;
    let mut bar = String::new();
    if unicode {
        bar.push_str(&"█".repeat(eighths / 8));
        if let Some(end) = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'].get((eighths % 8).wrapping_sub(1))
        {
            bar.push(*end);
        }
        let rest = columns.saturating_sub(width(&bar));
        bar.push_str(&"·".repeat(rest));
    } else {
        let full = (eighths + 4) / 8;
        bar.push_str(&"#".repeat(full));
        bar.push_str(&".".repeat(columns.saturating_sub(full)));
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_text_keeps_every_word_and_stays_within_its_columns() {
        let text =
            "GC stopped the JVM for 0.31 s of 20 s; org.example.AVeryLongNameWithoutAnySpaceInIt.method";
        for columns in 1..100 {
            let lines = wrap(text, columns);
            assert!(lines.iter().all(|l| width(l) <= columns), "{columns}: {lines:?}");
            assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
        }
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(left("日本", 6), "日本  ");
        assert_eq!(cut("日本語のクラス", 7, "…"), "日本語…");
        assert!(wrap("日本語のクラス", 3).iter().all(|l| width(l) <= 3));
    }

    #[test]
    fn a_bar_is_as_wide_as_told_whatever_the_share() {
        for share in [0.0, 0.01, 0.5, 0.999, 1.0, 7.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(width(&bar(share, 10, true)), 10, "{share}");
            assert_eq!(bar(share, 10, false).len(), 10, "{share}");
        }
        assert_eq!(bar(0.55, 10, true), "█████▌····");
        assert_eq!(bar(0.55, 10, false), "######....");
    }
}
