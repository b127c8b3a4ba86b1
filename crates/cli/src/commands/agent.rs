//! `fathom agent`: the daemon of a host with many JVMs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fathom_agent::{Agent, Directory, Limits, Place, Status};
use fathom_capture::slow::limit::{bytes, duration};
use fathom_capture::slow::trigger::Trigger;
use fathom_capture::target::{Condition, JvmFilter, NamePattern};
use fathom_capture::{COLLECTORS, Settings, Signals};

use super::record::{adjust, collector};
use crate::exit::{Environment, Outcome};
use crate::identity::IdentityArgs;
use crate::output::{print, print_json};

mod status_text;

/// What runs always: what it costs is known and small. Others are asked for by --with, or by a
/// trigger.
const ALWAYS: [&str; 4] = ["cpu", "jvm-events", "jvm-counters", "host"];

/// Arguments of `fathom agent`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Run as a host's daemon: record its JVMs continuously, within limits, as rows for `fathom fleet`",
    long_about = "Runs as the daemon of a host: finds its JVMs, records them continuously within limits of CPU, \
memory and disk, and uploads compact rows to a place that `fathom fleet` queries. With --on-slow, full recordings \
of what was slow are kept as well.

Rows wait in a spool on this host until the place has accepted them: when the agent is killed or the place is \
unreachable, nothing is lost or duplicated but the interval that was still in memory. Above a limit the agent \
lowers its sampling rate, then pauses, and reports that in its status and in the rows.",
    after_long_help = "Examples:
  fathom agent --all --to /srv/fleet                              every JVM of this host
  fathom agent --name 'Order|Billing' --to /mnt/fleet --on-slow 'stop>200ms'
  fathom agent --where unit:shop.service --where env:TIER=gold --to /srv/fleet
  fathom agent --all --to /srv/fleet --max-cpu 0.5 --max-memory 96MB
  fathom agent --all --to s3://fleet/prod                         into a bucket; AWS_REGION, AWS_ACCESS_KEY_ID … say how
  fathom agent --status                                           its status; --json for a script
  fathom fleet frames --at /srv/fleet

docs/agent.md has the rights that it needs, the units for systemd and Kubernetes, and what a kill costs."
)]
#[command(group(clap::ArgGroup::new("which").required(true).multiple(true).args(["name", "cgroup", "condition", "all", "status"])))]
pub struct Args {
    /// JVMs whose main class or jar matches a regular expression; may be given several times
    #[arg(long, value_name = "RE")]
    name: Vec<String>,
    /// JVMs of a control group and of those below it; may be given several times
    #[arg(long, value_name = "PATH")]
    cgroup: Vec<String>,
    /// JVMs that were started with: env:NAME=VALUE, property:NAME=VALUE (a -D on the
    /// command line), unit:NAME (of systemd). Several of one kind are alternatives
    #[arg(long = "where", value_name = "WHAT")]
    condition: Vec<Condition>,
    /// Every JVM of this host
    #[arg(short, long, conflicts_with_all = ["name", "cgroup", "condition"])]
    all: bool,
    /// Where rows go: an existing directory, or a bucket, s3://BUCKET/PREFIX, whose endpoint,
    /// region and credentials are those of the environment (AWS_...)
    #[arg(long, value_name = "PLACE", required_unless_present = "status")]
    to: Option<String>,
    /// Where rows are spooled until they are uploaded
    #[arg(long, value_name = "DIR", default_value = "/var/lib/fathom/agent")]
    spool: PathBuf,
    /// Length of an interval of rows; a kill loses at most the one that is open
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "60s")]
    every: Duration,
    /// CPU samples per second per CPU
    #[arg(short = 'F', long, value_name = "HZ", default_value_t = 99, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    frequency: u32,
    /// Switch on a collector in addition to cpu, jvm-events, jvm-counters and host, which are
    /// always on; `fathom record --help` lists them; may be given several times
    #[arg(long, value_name = "COLLECTOR", value_parser = collector)]
    with: Vec<String>,
    /// Keep a full recording around something slow: stop>200ms, syscall:write>50ms; `fathom record
    /// --help` lists the triggers; may be given several times
    #[arg(long, value_name = "TRIGGER")]
    on_slow: Vec<Trigger>,
    /// How much time before it began is kept
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s")]
    before: Duration,
    /// An incident ends after this time without anything slow
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5s")]
    after: Duration,
    /// Limit of the agent's CPU time, percent of one CPU
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0, value_parser = percent)]
    max_cpu: f64,
    /// Limit of the agent's memory
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "128MB")]
    max_memory: u64,
    /// Limit of the spool on disk; the oldest rows are dropped first
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "512MB")]
    max_disk: u64,
    /// Show the status of the agent that uses this spool
    #[arg(long, conflicts_with_all = ["to", "name", "cgroup", "condition", "all"])]
    status: bool,
    /// With --status: as JSON (schema fathom.agent/1)
    #[arg(long, requires = "status")]
    json: bool,
    #[command(flatten)]
    identity: IdentityArgs,
}

/// Memory with which it can work at all.
const LEAST_MEMORY: u64 = 32 << 20;

fn percent(text: &str) -> Result<f64, String> {
    let percent: f64 =
        text.trim_end_matches('%').parse().map_err(|_| "write a percentage: 1, 0.5".to_owned())?;
    if percent > 0.0 && percent.is_finite() { Ok(percent) } else { Err("must be greater than 0".into()) }
}

impl Args {
    /// Runs until a signal comes, or prints the status of the one that runs.
    pub fn run(self) -> Result<Outcome> {
        if self.status {
            let status = Status::of(&self.spool).map_err(user_error)?;
            if self.json {
                print_json(&status)?;
            } else {
                print(&status_text::text(&status))?;
            }
            return Ok(Outcome::Done);
        }
        if self.every < Duration::from_secs(1) {
            bail!("--every: intervals of less than a second are not worth their cost");
        }
        if self.max_memory < LEAST_MEMORY {
            bail!("--max-memory: the agent itself needs {} MB", LEAST_MEMORY >> 20);
        }
        let place = self.place()?;
        let signals = Signals::take_over().map_err(super::record::user_error)?;
        let host = self.identity.over(fathom_capture::identity::identity([]));
        let identity = self.identity.clone();
        let known = |pid: i32| fathom_agent::declared(pid, fathom_capture::identity::identity([pid]));
        let identify = move |pid: i32| identity.over(known(pid));
        let agent = Agent {
            filter: self.filter()?,
            capture: self.capture(),
            triggers: self.on_slow,
            at_rest: fathom_diagnose::is_at_rest,
            before: self.before,
            after: self.after,
            every: self.every,
            limits: Limits {
                cpu: self.max_cpu / 100.0,
                memory_bytes: self.max_memory,
                disk_bytes: self.max_disk,
            },
            spool: self.spool,
            place,
            identify: Arc::new(identify),
            host,
        };
        fathom_agent::run(agent, &signals).map_err(user_error)?;
        Ok(Outcome::Done)
    }

    fn filter(&self) -> Result<JvmFilter> {
        let mut conditions = self.condition.clone();
        for pattern in &self.name {
            let pattern = NamePattern::new(pattern).map_err(|e| anyhow::anyhow!("--name {pattern}: {e}"))?;
            conditions.push(Condition::Name(pattern));
        }
        conditions.extend(self.cgroup.iter().map(|path| Condition::cgroup(path)));
        Ok(JvmFilter(conditions))
    }

    fn capture(&self) -> Settings {
        let needed = |id: &str| self.on_slow.iter().any(|trigger| trigger.kind.collector == Some(id));
        let wanted = |id: &str| ALWAYS.contains(&id) || self.with.iter().any(|with| with == id) || needed(id);
        let without = COLLECTORS.iter().filter(|entry| entry.default && !wanted(entry.id));
        let mut settings = Settings {
            frequency_hz: self.frequency,
            with: self.with.clone(),
            without: without.map(|entry| entry.id.to_owned()).collect(),
            ..Settings::default()
        };
        if !self.on_slow.is_empty() {
            adjust(&self.on_slow, &mut settings);
        }
        settings
    }

    fn place(&self) -> Result<Box<dyn Place>> {
        let to = self.to.as_deref().unwrap_or_default();
        if let Some(bucket) = crate::bucket::named(Path::new(to)) {
            return Ok(Box::new(bucket.context("--to")?));
        }
        if to.contains("://") {
            bail!("--to {to}: rows go to a directory or to s3://BUCKET/PREFIX");
        }
        let place = PathBuf::from(to);
        // A directory that is missing may be a disk that is not mounted yet; a file is not a
        // directory.
        if place.exists() && !place.is_dir() {
            bail!("--to {to}: it is no directory");
        }
        if place.join("meta.json").is_file() {
            bail!("--to {to}: it is a recording; rows need a directory of their own");
        }
        Ok(Box::new(Directory(place)))
    }
}

/// An error with the exit status that belongs to it.
fn user_error(error: fathom_agent::AgentError) -> anyhow::Error {
    use fathom_agent::AgentError;
    match error {
        AgentError::Capture(error) => super::record::user_error(error),
        AgentError::InUse(_) | AgentError::NoStatus { .. } | AgentError::Io { .. } => {
            Environment(error.to_string()).into()
        }
        error => error.into(),
    }
}
