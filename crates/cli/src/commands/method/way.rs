//! Which way calls are counted: the one that changes least of those that can be had, unless one is
//! asked for.

use anyhow::{Result, anyhow};
use fathom_capture::Unavailable;
use fathom_capture::methods::{Asked, Count, Filter, MethodFlight, Watch, Way, Woven};

use super::flight::Flying;
use crate::exit::Environment;

/// How to count calls, as on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Asking {
    /// The one of the first two that can be had and changes less; never agent
    #[default]
    Auto,
    /// Hardware breakpoints, from outside: nothing of the JVM changes; needs eBPF
    Breakpoint,
    /// Method timing of the flight recorder (JEP 520): JDK 25 and later; it changes bytecode
    Jfr,
    /// An agent that changes bytecode: JDK 8 and later
    Agent,
}

/// Calls a second that are borne, of all methods together: a breakpoint takes 10 µs of each, an
/// event of the recorder a microsecond, the agent less than a tenth of one.
fn most_calls(way: Way) -> u64 {
    match way {
        Way::Breakpoint | Way::Flight => 20_000,
        Way::Agent => 1_000_000,
    }
}

/// What a way changes in the JVM.
fn changes(way: Way) -> &'static str {
    match way {
        Way::Breakpoint => "hardware breakpoints, which change nothing of the JVM",
        Way::Flight => {
            "method timing of the flight recorder (JEP 520), which changes the bytecode of the methods while it counts and has them \
             compiled anew"
        }
        Way::Agent => {
            "an agent, which changes the bytecode of the methods while it counts and has them compiled anew"
        }
    }
}

/// Begins to count; says how, and what that changes.
pub fn begin(
    pid: i32,
    asking: Asking,
    asked: &Asked,
    most: Option<u64>,
    say: &dyn Fn(&str),
) -> Result<Box<dyn Count>> {
    let start = |way| {
        start(pid, way, Asked { most_hits_per_s: most.unwrap_or(most_calls(way)), ..asked.clone() }, say)
    };
    let (way, count) = match asking {
        Asking::Breakpoint => (Way::Breakpoint, start(Way::Breakpoint).map_err(|unseen| in_words(&unseen))?),
        Asking::Jfr => (Way::Flight, start(Way::Flight).map_err(|unseen| in_words(&unseen))?),
        Asking::Agent => (Way::Agent, start(Way::Agent).map_err(|unseen| in_words(&unseen))?),
        Asking::Auto => {
            let no_breakpoint = if asked.slow.is_some() {
                Err("a breakpoint sees no single call (--slow)".to_owned())
            } else {
                start(Way::Breakpoint).map_err(|unseen| in_words(&unseen).to_string())
            };
            match no_breakpoint {
                Ok(count) => (Way::Breakpoint, count),
                Err(no_breakpoint) => {
                    let flight = can_fly(pid, asked).and_then(|()| {
                        say(&format!("way breakpoint cannot be taken: {no_breakpoint}"));
                        start(Way::Flight).map_err(|unseen| in_words(&unseen).to_string())
                    });
                    let flight = flight.map_err(|no_flight| {
                        anyhow!(Environment(format!(
                            "{no_breakpoint}; {no_flight}; --way agent changes more and is taken only when it is asked for"
                        )))
                    })?;
                    (Way::Flight, flight)
                }
            }
        }
    };
    say(&format!("way {}: {}", way.name(), changes(way)));
    Ok(count)
}

fn can_fly(pid: i32, asked: &Asked) -> Result<(), String> {
    MethodFlight::can(pid.cast_unsigned())?;
    Filter::of(&asked.patterns).map(drop)
}

fn start(pid: i32, way: Way, asked: Asked, say: &dyn Fn(&str)) -> Result<Box<dyn Count>, Unavailable> {
    Ok(match way {
        Way::Breakpoint => Box::new(Watch::start(pid, asked)?),
        Way::Flight => Box::new(Flying::start(pid.cast_unsigned(), &asked)?),
        Way::Agent => {
            Woven::warnings(pid.cast_unsigned())?.iter().for_each(|warning| say(warning));
            let woven = Woven::start(pid.cast_unsigned(), &asked)?;
            if let Some((took, classes)) = woven.took {
                say(&format!("the agent looked at {classes} classes in {:.0} ms", took.as_secs_f64() * 1e3));
            }
            Box::new(woven)
        }
    })
}

fn in_words(unseen: &Unavailable) -> anyhow::Error {
    let remedy = if unseen.remedy.is_empty() { String::new() } else { format!("; {}", unseen.remedy) };
    Environment(format!("{}: {}{remedy}", unseen.what, unseen.why)).into()
}
