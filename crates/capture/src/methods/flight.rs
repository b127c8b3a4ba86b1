//! Calls that the flight recorder times and traces (JEP 520, JDK 25 on): files of it, one after the
//! other. Reading them is not for this crate.
//!
//! ```text
//!   slice 1  ├──────────────┤           each slice has an end of its own inside the JVM: a fathom that is killed leaves
//!   slice 2              ├──────────┤   nothing that goes on, and the last end takes the timing out of the bytecode
//! ```

use std::fs::File;
use std::time::{Duration, Instant};

use fathom_hotspot::attach::{Attach, AttachError};
use fathom_hotspot::find::{About, Kind};
use fathom_hotspot::{Error, jcmd};

use super::Pattern;
use crate::Unavailable;
use crate::jfr::chunks::Chunks;
use crate::jvm_folder::{Folder, For, clear_left};

/// Since when the recorder can do it.
const SINCE: u32 = 25;
/// How much longer than until the next one a slice lasts when nobody stops it.
const SPARE: Duration = Duration::from_secs(30);
/// How long the JVM may take to start or to write a slice.
const PATIENCE: Duration = Duration::from_secs(25);
/// How much of all slices is kept between two looks.
const MOST_BYTES: u64 = 1 << 30;

/// Methods as the recorder's filter has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter(String);

impl Filter {
    /// Of patterns; in words why one cannot be said.
    pub fn of(patterns: &[Pattern]) -> Result<Self, String> {
        let said: Result<Vec<String>, String> = patterns.iter().map(said).collect();
        Ok(Self(said?.join(";")))
    }
}

fn said(pattern: &Pattern) -> Result<String, String> {
    let (class, name) = (pattern.class(), pattern.name());
    if pattern.descriptor().is_some() {
        return Err(format!(
            "{pattern}: the flight recorder's filter knows no descriptors, only all methods of a name"
        ));
    }
    if class.contains('*') || (name.contains('*') && name != "*") {
        return Err(format!(
            "{pattern}: the flight recorder's filter knows no *, but all methods of a class (package.Class::*)"
        ));
    }
    if [class, name].iter().any(|part| {
        part.contains([';', '@', '"', '\'', '&', '<', '>']) && *part != "<init>" && *part != "<clinit>"
    }) {
        return Err(format!("{pattern}: the flight recorder's filter cannot say this"));
    }
    Ok(if name == "*" { class.to_owned() } else { format!("{class}::{name}") })
}

/// A JVM whose recorder times methods.
pub struct MethodFlight {
    attach: Attach,
    folder: Folder,
    chunks: Chunks,
    filter: Filter,
    slice: u32,
    started: Instant,
}

impl MethodFlight {
    /// Whether a JVM's recorder can do it, by its release.
    pub fn can(pid: u32) -> Result<(), String> {
        let kind = Kind::HotSpot { libjvm: String::new(), deleted: false };
        let status = fathom_hotspot::proc_status::ProcStatus::of(pid).map_err(|error| error.to_string())?;
        match About::of(pid, &status, &kind).feature() {
            Some(release) if release >= SINCE => Ok(()),
            Some(release) => Err(format!(
                "JDK {release} cannot time methods by its flight recorder: JDK {SINCE} and later can (JEP 520)"
            )),
            None => Err("of which release this JVM is cannot be seen".to_owned()),
        }
    }

    /// Begins to time methods, and to trace them as well: `traced` says from what duration on.
    pub fn start(
        pid: u32,
        filter: Filter,
        lasts: Duration,
        traced: Option<Duration>,
    ) -> Result<Self, Unavailable> {
        Self::can(pid).map_err(|why| unavailable(why, "use --way breakpoint or --way agent"))?;
        let attach = Attach::to(pid).map_err(|error| refused(&error))?;
        let no_folder = |error: std::io::Error| {
            unavailable(
                format!("the /tmp of JVM {pid} cannot be written: {error}"),
                "give it one that its user can write",
            )
        };
        clear_left(&attach, For::Calls).map_err(no_folder)?;
        let folder = Folder::create(&attach, For::Calls).map_err(no_folder)?;
        let chunks = Chunks::new(MOST_BYTES).map_err(no_folder)?;
        let mut flight = Self { attach, folder, chunks, filter, slice: 0, started: Instant::now() };
        flight.next_slice(lasts, traced).map_err(|error| refused(&error))?;
        Ok(flight)
    }

    /// Whether the JVM is still there.
    pub fn is_alive(&self) -> bool {
        self.attach.is_alive()
    }

    /// Starts the next slice, which another will follow after so long, and gives what came until
    /// now; `None`: nothing.
    pub fn renew(&mut self, lasts: Duration, traced: Option<Duration>) -> Result<Option<File>, String> {
        let before = self.slice;
        self.next_slice(lasts, traced).map_err(|error| error.to_string())?;
        self.end_slice(before)
    }

    /// Ends the last slice, and with it the timing; what came.
    pub fn stop(&mut self) -> Result<Option<File>, String> {
        self.end_slice(self.slice)
    }

    /// How long this slice has run.
    pub fn lasts(&self) -> Duration {
        self.started.elapsed()
    }

    fn next_slice(&mut self, lasts: Duration, traced: Option<Duration>) -> Result<(), Error> {
        let slice = self.slice + 1;
        let settings = format!("{slice}.jfc");
        let written =
            self.folder.write(&self.attach, &settings, configuration(&self.filter, traced).as_bytes());
        written.map_err(|source| AttachError::System {
            what: "writing settings for the recorder".to_owned(),
            source,
        })?;
        let quoted = |file: &str| jcmd::quoted(&self.folder.path(file)).unwrap_or_default();
        let command = format!(
            "JFR.start name={} settings={} duration={}s filename={} maxsize=256m",
            self.name(slice),
            quoted(&settings),
            (lasts + SPARE).as_secs().max(1),
            quoted(&file_of(slice)),
        );
        let answer = self.attach.jcmd_within(PATIENCE, &command);
        self.folder.remove(&settings);
        let answer = answer?;
        if !answer.contains("Started recording") {
            let refused = AttachError::Refused { command: "JFR.start".to_owned(), status: 0, text: answer };
            return Err(refused.into());
        }
        (self.slice, self.started) = (slice, Instant::now());
        Ok(())
    }

    fn end_slice(&mut self, slice: u32) -> Result<Option<File>, String> {
        let stopped = self.attach.jcmd_within(PATIENCE, &format!("JFR.stop name={}", self.name(slice)));
        let file = file_of(slice);
        if let Some(mut written) = self.folder.open(&file) {
            self.chunks.append(&mut written, false).map_err(|error| error.to_string())?;
        } else if let Err(error) = stopped {
            return Err(error.to_string());
        }
        self.folder.remove(&file);
        self.chunks.since().map_err(|error| error.to_string())
    }

    fn name(&self, slice: u32) -> String {
        format!("fathom-calls-{}-{slice}", self.folder.token())
    }
}

fn file_of(slice: u32) -> String {
    format!("slice-{slice}.jfr")
}

/// Settings: nothing but the two events.
fn configuration(filter: &Filter, traced: Option<Duration>) -> String {
    let filter = filter.0.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<configuration version=\"2.0\" label=\"fathom\" provider=\"fathom\">\n\
         <event name=\"jdk.MethodTiming\">\n<setting name=\"enabled\">true</setting>\n<setting name=\"filter\">{filter}</setting>\n\
         <setting name=\"period\">endChunk</setting>\n</event>\n"
    );
    if let Some(from) = traced {
        text += &format!(
            "<event name=\"jdk.MethodTrace\">\n<setting name=\"enabled\">true</setting>\n<setting name=\"filter\">{filter}</setting>\n\
             <setting name=\"threshold\">{} ns</setting>\n<setting name=\"stackTrace\">true</setting>\n</event>\n",
            from.as_nanos()
        );
    }
    text + "</configuration>\n"
}

fn unavailable(why: String, remedy: &str) -> Unavailable {
    Unavailable { scope: None, what: "counting by the flight recorder".into(), why, remedy: remedy.into() }
}

fn refused(error: &Error) -> Unavailable {
    let remedy = match error {
        Error::Attach(AttachError::NotYours { .. }) | Error::NotAllowed { .. } => {
            "run fathom as that user or as root"
        }
        _ => "use --way breakpoint or --way agent",
    };
    unavailable(error.to_string(), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(pattern: &str) -> Result<Filter, String> {
        Filter::of(&[pattern.parse().unwrap()])
    }

    #[test]
    fn a_filter_says_what_the_recorder_understands_and_refuses_the_rest() {
        assert_eq!(filter("com.shop.Cart::checkout").unwrap().0, "com.shop.Cart::checkout");
        assert_eq!(filter("com.shop.Cart$Line::<init>").unwrap().0, "com.shop.Cart$Line::<init>");
        assert_eq!(filter("com.shop.Cart::*").unwrap().0, "com.shop.Cart");
        for (pattern, why) in [
            ("com.*::get", "no *"),
            ("a.B::get*", "no *"),
            ("a.B::get(I)V", "descriptors"),
            ("a.B::x;y", "cannot"),
        ] {
            assert!(filter(pattern).unwrap_err().contains(why), "{pattern}");
        }
        let text = configuration(&filter("a.B::<init>").unwrap(), Some(Duration::from_millis(2)));
        assert!(text.contains("a.B::&lt;init&gt;") && text.contains(">2000000 ns<"), "{text}");
    }
}
