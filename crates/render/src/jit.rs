//! `fathom jit` in the terminal: judged metrics first, the tables after them.

use fathom_diagnose::metrics::jit::{JitReport, JvmJit, MethodRow, ReasonRow};
use fathom_diagnose::quantity;

use crate::printable;
use crate::tables::{LENGTHS, Sheet, group, lengths, section, shortened, table};

/// Columns for the name of a method.
const METHOD: usize = 52;

/// The report as text of at most so many columns, 100 at most.
pub fn text(report: &JitReport, columns: usize) -> String {
    let mut out = Sheet::new(columns);
    out.warnings(&report.warnings);
    for jvm in &report.jvms {
        one(&mut out, jvm);
    }
    if report.jvms.len() > 1 {
        let compiles = quantity::plural(report.compiles, "compilation", "compilations");
        out.push_str(&format!("All {} JVMs: {compiles}\n", report.jvms.len()));
    }
    out.finish()
}

fn one(out: &mut Sheet, jvm: &JvmJit) {
    let over = jvm.covers_s.map_or("no timestamps".to_owned(), |s| format!("over {}", quantity::seconds(s)));
    let mut about = vec![printable(&jvm.process).into_owned()];
    about.extend((!jvm.description.is_empty()).then(|| printable(&jvm.description).into_owned()));
    let compiles = quantity::plural(jvm.compiles, "compilation", "compilations");
    out.push_str(&format!("{}, {over}\n{compiles}\n", about.join(": ")));
    for metrics in &jvm.groups {
        group(out, metrics);
    }
    tiers(out, jvm);
    methods(out, "Slowest compilations", &jvm.slowest);
    methods(out, "Most machine code", &jvm.biggest);
    reasons(out, "Compiled code thrown away without better code there, by reason", &jvm.invalidations);
    reasons(out, "Traps taken at run time, by reason", &jvm.traps);
    reasons(out, "Failed compilations, by reason", &jvm.failures);
    recompiled(out, jvm);
    out.push('\n');
}

/// What a tier is, for those who do not know the numbers; where it is not known, the compiler.
fn tier(tier: u8, compiler: Option<&str>) -> &'static str {
    match (tier, compiler) {
        (1, _) => "1 (C1, no profiling)",
        (2, _) => "2 (C1, counters)",
        (3, _) => "3 (C1, full profiling)",
        (4, _) => "4 (C2, best code)",
        (_, Some("c1")) => "C1, tier not recorded",
        (_, Some("c2")) => "C2, tier not recorded",
        _ => "not recorded",
    }
}

/// The same in a column of numbers.
fn short_tier(row: &MethodRow) -> String {
    let tier = match (row.tier, row.compiler.as_deref()) {
        (0, Some(compiler)) => compiler.to_uppercase(),
        (0, None) => "–".to_owned(),
        (tier, _) => tier.to_string(),
    };
    format!("{tier}{}", if row.osr { " OSR" } else { "" })
}

fn tiers(out: &mut Sheet, jvm: &JvmJit) {
    let mut rows =
        table(&["tier", "count", "of it OSR", "per second", "total", "p50", "p95", "max", "code"], &[]);
    for row in &jvm.tiers {
        let length = row.length_ms.as_ref().map(|d| [d.total, d.p50, d.p95, d.max].map(quantity::millis));
        let [total, p50, p95, max] = length.unwrap_or_else(|| std::array::from_fn(|_| "–".into()));
        rows.add_row([
            tier(row.tier, row.compiler.as_deref()).to_owned(),
            quantity::count(row.count as f64),
            row.osr.map_or("–".into(), |n| quantity::count(n as f64)),
            row.per_s.map_or("–".into(), |n| format!("{n:.2}")),
            total,
            p50,
            p95,
            max,
            row.nmethod_bytes.map_or("–".into(), quantity::bytes),
        ]);
    }
    section(out, "Compilations by tier (OSR: a running loop replaced on the stack)", &rows);
    let mut rows = table(&[&["tier"][..], &LENGTHS].concat(), &[]);
    for row in &jvm.queues {
        rows.add_row(std::iter::once(tier(row.tier, None).to_owned()).chain(lengths(&row.wait_ms)));
    }
    section(out, "Waits in the compile queue", &rows);
}

fn methods(out: &mut Sheet, title: &str, methods: &[MethodRow]) {
    let mut rows = table(&["method", "tier", "time", "bytecodes", "inlined", "code"], &[]);
    let bytes = |b: Option<f64>| b.map_or("–".into(), quantity::count);
    for row in methods {
        rows.add_row([
            shortened(&row.method, METHOD),
            short_tier(row),
            quantity::millis(row.ms),
            bytes(row.bytecodes),
            bytes(row.inlined_bytes),
            row.nmethod_bytes.map_or("–".into(), quantity::bytes),
        ]);
    }
    section(out, title, &rows);
}

fn reasons(out: &mut Sheet, title: &str, reasons: &[ReasonRow]) {
    let mut rows = table(&["reason", "count", "most often"], &[2]);
    for row in reasons {
        let most = row.methods.first().map(|(method, n)| format!("{} × {n}", shortened(method, METHOD)));
        let count = quantity::count(row.count as f64);
        rows.add_row([shortened(&row.reason, METHOD / 2), count, most.unwrap_or_default()]);
    }
    section(out, title, &rows);
}

fn recompiled(out: &mut Sheet, jvm: &JvmJit) {
    let mut rows = table(&["method", "thrown away", "compiled", "mostly because"], &[3]);
    for row in &jvm.recompiled {
        rows.add_row([
            shortened(&row.method, METHOD),
            quantity::count(row.invalidated as f64),
            quantity::count(row.compiled as f64),
            shortened(row.reason.as_deref().unwrap_or("not logged"), METHOD / 2),
        ]);
    }
    section(out, "Recompiled after their code was thrown away", &rows);
}
