//! The status of an agent, for a terminal.

use fathom_agent::Status;
use fathom_render::printable;
use indicatif::HumanBytes;

/// A line for each thing, and one for each JVM and each blind spot.
pub(super) fn text(status: &Status) -> String {
    let mut lines = Vec::new();
    let state = if status.running { status.state.as_str() } else { "not running" };
    let why = status.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    lines.push(format!("{state}{why} (pid {})", status.pid));
    let cpu = status.cpu_percent.map_or_else(|| "not known".to_owned(), |cpu| format!("{cpu:.2}%"));
    lines.push(format!("  samples   {} per second per CPU of {} asked for", status.rate_hz, status.asked_hz));
    lines.push(format!("  CPU       {cpu} of {:.2}% allowed", status.cpu_limit_percent));
    let rss = status.rss_bytes.map_or_else(|| "not known".to_owned(), |bytes| HumanBytes(bytes).to_string());
    lines.push(format!("  memory    {rss} of {} allowed", HumanBytes(status.rss_limit_bytes)));
    let spool = &status.spool;
    lines.push(format!(
        "  waiting   {} in {} entries of {} allowed; {} recordings dropped for lack of room so far",
        HumanBytes(spool.bytes),
        spool.entries,
        HumanBytes(spool.limit_bytes),
        spool.dropped_recordings
    ));
    lines.extend(spool.error.iter().map(|error| format!("  spool     cannot be written: {error}")));
    let place = &status.place;
    let works = match (place.works, &place.why) {
        (None, _) => "nothing was uploaded yet".to_owned(),
        (Some(true), _) => format!("{} entries taken", place.taken),
        (Some(false), why) => format!(
            "AWAY, {} attempts failed: {}; the next one {:.0} s after the last",
            place.failures,
            why.as_deref().unwrap_or("not known"),
            place.retry_after_s.unwrap_or(0.0)
        ),
    };
    lines.push(format!("  place     {}: {works}", place.place));
    let incidents = &status.incidents;
    let failed = incidents.why.as_ref().map_or_else(String::new, |why| format!(" (the last: {why})"));
    lines
        .push(format!("  incidents {} written, {} not written{failed}", incidents.written, incidents.failed));
    lines.push(format!("  JVMs      {}", status.jvms.len()));
    for jvm in &status.jvms {
        let service = jvm.service.as_deref().unwrap_or("-");
        let container =
            jvm.container.as_deref().map_or_else(String::new, |id| format!(", container {id:.12}"));
        lines.push(format!("    {} {} (service {service}{container})", jvm.pid, jvm.name));
    }
    for unseen in &status.unseen {
        lines.push(format!("  not seen  {}: {}", unseen.what, unseen.why));
    }
    lines.iter().map(|line| format!("{}\n", printable(line))).collect()
}
