//! An engine's answer as one HTML page: a table with bars, how a share went from day to day, and
//! the recordings that a row comes from. It is finished as it is written: no script runs in it and
//! nothing is loaded.

use std::fmt::Write as _;

use serde_json::Value;

use crate::printable;

/// Colours and type of all pages.
const BASE: &str = include_str!("../../../../ui/src/style/base.css");
const OWN: &str = include_str!("page.css");
/// Width and height of a trend, pixels.
const TREND: (f64, f64) = (150.0, 30.0);
/// Longest bar, `rem`.
const BAR: f64 = 6.0;
/// Recordings of a row that are shown; how many there are is said.
const MOST: usize = 12;
/// A text of so many characters gets room.
const LONG: usize = 40;
/// Columns that a recording must have the same value in as the row that it stands for.
const SHARED: [&str; 5] = ["service", "version", "host", "day", "rule"];

/// Rows under names of columns.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The names.
    pub columns: &'a [String],
    /// The rows.
    pub rows: &'a [Vec<Value>],
}

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// What was asked.
    pub about: &'a str,
    /// Of what place, with which engine and parameters.
    pub of: &'a str,
    /// The answer.
    pub answer: Rows<'a>,
    /// The question `trend`: shares of names by day.
    pub trend: Option<Rows<'a>>,
    /// The question `recordings`.
    pub recordings: Option<Rows<'a>>,
}

impl<'a> Rows<'a> {
    fn text(&self, row: &'a [Value], column: &str) -> Option<&'a str> {
        row.get(self.columns.iter().position(|name| name == column)?)?.as_str()
    }

    fn number(&self, row: &'a [Value], column: &str) -> Option<f64> {
        row.get(self.columns.iter().position(|name| name == column)?)?.as_f64()
    }
}

/// The page.
pub fn page(page: &Page<'_>) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>\n{BASE}{OWN}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n<p class=\"about\">{}</p>\n",
        escaped(page.of),
        title = escaped(page.about),
    );
    let answer = page.answer;
    if answer.rows.is_empty() {
        out.push_str("<div class=\"scroll\"><p class=\"empty\">No rows: nothing here matches.</p></div>\n");
    } else {
        table(&mut out, page);
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

fn table(out: &mut String, page: &Page<'_>) {
    let answer = page.answer;
    let numbers: Vec<bool> = (0..answer.columns.len())
        .map(|i| answer.rows.iter().any(|row| row.get(i).is_some_and(Value::is_number)))
        .collect();
    // Bars where lengths say something: shares, times and changes of them.
    let largest: Vec<Option<f64>> = answer
        .columns
        .iter()
        .enumerate()
        .map(|(i, name)| {
            let bars = ["_percent", "_ms", "_points", "percent"].iter().any(|end| name.ends_with(end));
            let values = answer.rows.iter().filter_map(|row| row.get(i)?.as_f64()).map(f64::abs);
            values.reduce(f64::max).filter(|most| bars && *most > 0.0)
        })
        .collect();
    let trends: Vec<Vec<(&str, f64)>> = answer.rows.iter().map(|row| trend(page, row)).collect();
    let has_trend = trends.iter().any(|days| days.len() > 1);
    out.push_str("<div class=\"scroll\"><table>\n<thead><tr>");
    for (name, number) in answer.columns.iter().zip(&numbers) {
        let class = if *number { " class=\"number\"" } else { "" };
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escaped(&name.replace('_', " ")));
    }
    if has_trend {
        out.push_str("<th scope=\"col\">by day</th>");
    }
    if page.recordings.is_some() {
        out.push_str("<th scope=\"col\">recordings</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (row, days) in answer.rows.iter().zip(&trends) {
        out.push_str("<tr>");
        for ((value, number), most) in row.iter().zip(&numbers).zip(&largest) {
            cell(out, value, *number, *most);
        }
        if has_trend {
            out.push_str("<td>");
            line(out, days, answer.text(row, "day"));
            out.push_str("</td>");
        }
        if let Some(recordings) = page.recordings {
            out.push_str("<td>");
            behind(out, answer, row, recordings);
            out.push_str("</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

fn cell(out: &mut String, value: &Value, number: bool, most: Option<f64>) {
    match value {
        Value::String(text) => {
            let class = if text.chars().count() > LONG { " class=\"long\"" } else { "" };
            let _ = write!(out, "<td{class}>{}</td>", escaped(text));
        }
        Value::Null => out.push_str(if number { "<td class=\"number\">–</td>" } else { "<td>–</td>" }),
        other => {
            let _ = write!(out, "<td class=\"number\">{}", escaped(&other.to_string()));
            if let Some((most, n)) = most.zip(other.as_f64()) {
                let class = if n < 0.0 { "bar less" } else { "bar" };
                let _ =
                    write!(out, "<i class=\"{class}\" style=\"width:{:.2}rem\"></i>", BAR * n.abs() / most);
            }
            out.push_str("</td>");
        }
    }
}

/// Shares by day of the method or category that a row is about.
fn trend<'a>(page: &Page<'a>, row: &'a [Value]) -> Vec<(&'a str, f64)> {
    let (Some(trend), answer) = (page.trend, page.answer) else { return Vec::new() };
    let what = answer.text(row, "what").unwrap_or("frame");
    let names = [("name", what), ("method", "frame"), ("category", "category")];
    let Some((name, what)) =
        names.into_iter().find_map(|(column, what)| Some((answer.text(row, column)?, what)))
    else {
        return Vec::new();
    };
    let service = answer.text(row, "service");
    let is_of = |r: &&'a Vec<Value>| {
        trend.text(r, "name") == Some(name)
            && trend.text(r, "what") == Some(what)
            && service.is_none_or(|service| trend.text(r, "service") == Some(service))
    };
    let point = |r: &'a Vec<Value>| Some((trend.text(r, "day")?, trend.number(r, "percent")?));
    trend.rows.iter().filter(is_of).filter_map(point).collect()
}

/// A line from day to day; the day of a change is marked.
fn line(out: &mut String, days: &[(&str, f64)], since: Option<&str>) {
    let ([(first, _), .., (last, _)], most) = (days, days.iter().map(|(_, n)| *n).fold(0.0, f64::max)) else {
        return;
    };
    let ((width, height), gaps) = (TREND, (days.len() - 1) as f64);
    let x = |i: usize| width * i as f64 / gaps;
    let y = |n: f64| height - if most > 0.0 { height * n / most } else { 0.0 };
    let points: Vec<String> =
        days.iter().enumerate().map(|(i, (_, n))| format!("{:.1},{:.1}", x(i), y(*n))).collect();
    let points = points.join(" ");
    let title = format!("0 to {most}%, {first} to {last}");
    let _ = write!(
        out,
        "<svg width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{0}\"><title>{0}</title>\
         <polygon class=\"area\" points=\"0,{height} {points} {width},{height}\"/><polyline class=\"line\" points=\"{points}\"/>",
        escaped(&title)
    );
    if let Some(i) = since.and_then(|since| days.iter().position(|(day, _)| *day == since)) {
        let _ =
            write!(out, "<line class=\"since\" x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"0\" y2=\"{height}\"/>", x(i));
    }
    out.push_str("</svg>");
}

/// The recordings behind a row: those that agree with it in every column that both have.
fn behind(out: &mut String, answer: Rows<'_>, row: &[Value], recordings: Rows<'_>) {
    let agree = |r: &&Vec<Value>| {
        SHARED.iter().all(|column| {
            let of_row = answer.text(row, column);
            of_row.is_none_or(|value| recordings.text(r, column) == Some(value))
        })
    };
    let mut seen = std::collections::HashSet::new();
    let found: Vec<&Vec<Value>> = recordings
        .rows
        .iter()
        .filter(agree)
        .filter(|r| recordings.text(r, "recording").is_some_and(|id| seen.insert(id)))
        .collect();
    if found.is_empty() {
        out.push('–');
        return;
    }
    let _ = write!(out, "<details><summary>{}</summary><ul>", found.len());
    for r in found.iter().take(MOST) {
        let part = |column: &str| escaped(recordings.text(r, column).unwrap_or_default());
        let _ = write!(
            out,
            "<li>{} {} {} {}: {}<code>day={}/service={}/host={}/{}-*.parquet</code></li>",
            part("day"),
            part("service"),
            part("version"),
            part("host"),
            part("headline"),
            part("day"),
            part("service"),
            part("host"),
            part("recording")
        );
    }
    if found.len() > MOST {
        let _ = write!(out, "<li class=\"quiet\">and {} more</li>", found.len() - MOST);
    }
    out.push_str("</ul></details>");
}

/// Text as HTML has it.
fn escaped(text: &str) -> String {
    let text = printable(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn columns(names: &str) -> Vec<String> {
        names.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_row_has_its_bar_its_days_and_its_recordings_and_a_name_stays_text() {
        let names = columns("service name day change_points");
        let rows = [vec![json!("shop"), json!("a.B.<init>"), json!("2026-11-02"), json!(2)]];
        let days = columns("service what name day percent");
        let day = |day: &str, percent: i64| {
            vec![json!("shop"), json!("frame"), json!("a.B.<init>"), json!(day), json!(percent)]
        };
        let days_rows = [day("2026-11-01", 1), day("2026-11-02", 3), day("2026-11-03", 3)];
        let of = columns("day service version host rule headline recording");
        let recording = |day: &str, host: &str| {
            ["", "shop", "1", "", "", "healthy", ""]
                .iter()
                .enumerate()
                .map(|(i, text)| match i {
                    0 => json!(day),
                    3 | 6 => json!(host),
                    _ => json!(text),
                })
                .collect::<Vec<_>>()
        };
        let recordings =
            [recording("2026-11-02", "h1"), recording("2026-11-02", "h2"), recording("2026-11-01", "h3")];
        let made = page(&Page {
            about: "What & why?",
            of: "a place",
            answer: Rows { columns: &names, rows: &rows },
            trend: Some(Rows { columns: &days, rows: &days_rows }),
            recordings: Some(Rows { columns: &of, rows: &recordings }),
        });
        assert!(made.contains("<h1>What &amp; why?</h1>") && made.contains("<td>a.B.&lt;init&gt;</td>"));
        assert!(
            made.contains("<i class=\"bar\" style=\"width:6.00rem\">"),
            "the largest is as long as may be"
        );
        // The highest day is at the top, the change at the second of three days.
        assert!(made.contains("points=\"0.0,20.0 75.0,0.0 150.0,0.0\""), "{made}");
        assert!(made.contains("class=\"since\" x1=\"75.0\""));
        // Those of the day of the row, and not the one of another.
        assert!(
            made.contains("<summary>2</summary>") && made.contains("h2-*.parquet") && !made.contains("h3-*")
        );
        assert!(!made.contains("<script"));
    }
}
