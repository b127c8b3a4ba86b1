//! `fathom fleet`: many machines. Rows of recordings into a place, and queries of them.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fathom_fleet::{Added, Answer, FleetError, NAMESPACE, QUESTIONS, Question, SqlEngine, python};
use fathom_recording::{Recording, quantity};
use serde_json::json;

use crate::bucket::{self, Inputs};
use crate::exit::{Environment, Outcome};
use crate::output::{columns, print, print_json, write_file};

/// The schema of the JSON form.
const SCHEMA: &str = "fathom.fleet/1";
/// Points of all trends that are looked at for a page.
const MOST_POINTS: &str = "500000";
/// Recordings that are looked at for a page.
const MOST_RECORDINGS: &str = "20000";

/// Arguments of `fathom fleet`.
#[derive(clap::Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    about = "Collect rows of many recordings in one place, and query them with DuckDB, ClickHouse, Spark or Trino",
    long_about = "Collects rows of the recordings of many machines and queries them: since which version does this \
method cost more, on which hosts was this cause found, is it one machine or all?

`fathom fleet add` turns recordings into compact rows, Parquet files under PLACE/day=…/service=…/host=…; adding \
one again changes nothing. Queries are SQL that an existing engine runs: DuckDB (pip install duckdb), ClickHouse \
(pip install chdb) or Spark (pip install pyspark, and a Java; FATHOM_FLEET_SPARK is the master of a cluster), or a \
server of Trino (pip install trino) over tables of Apache Iceberg, which `fathom fleet register` creates. Without \
a query, they are listed. docs/fleet.md has the columns.",
    after_long_help = "Examples:
  fathom record -p 4711 -d 60s --service shop --version-label 2.3 -o a.fathom
  fathom fleet add *.fathom --to /srv/fleet
  fathom fleet                                                    the queries, with their parameters
  fathom fleet frames --at /srv/fleet --set service=shop
  fathom fleet versions --at /srv/fleet --set before=2.2 --set after=2.3
  fathom fleet rules --at /srv/fleet --set since=2026-11-24 --json
  fathom fleet add *.fathom --to s3://fleet/prod                  a bucket; AWS_REGION, AWS_ACCESS_KEY_ID … say how
  fathom fleet rules --at s3://fleet/prod --set since=2026-11-24
  fathom fleet changes --at /srv/fleet --html changes.html        what costs more since which day, as a page
  FATHOM_FLEET_SPARK=spark://head:7077 fathom fleet frames --at /srv/fleet --engine spark
  fathom fleet register --at /srv/fleet                           tables of Iceberg, for other engines
  fathom fleet frames --engine trino --at http://me@trino:8080/iceberg/fathom

FATHOM_FLEET_PYTHON names a Python that has the engine, where python3 does not have it."
)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// The query; without one, all are listed
    #[arg(value_name = "QUERY")]
    question: Option<String>,
    /// Where rows were added: a directory, or a bucket, s3://BUCKET/PREFIX; for Trino
    /// http://USER@HOST:PORT/CATALOG/SCHEMA
    #[arg(long, value_name = "PLACE", default_value = ".", requires = "question")]
    at: PathBuf,
    /// The engine that answers
    #[arg(long, value_enum, default_value_t = EngineName::Duckdb, requires = "question")]
    engine: EngineName,
    /// A parameter of the query, NAME=VALUE; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, requires = "question")]
    set: Vec<(String, String)>,
    /// As JSON (schema fathom.fleet/1)
    #[arg(long, requires = "question", conflicts_with = "html")]
    json: bool,
    /// Write an HTML page: bars, shares by day, and the recordings that a row comes from
    #[arg(long, value_name = "FILE", requires = "question")]
    html: Option<PathBuf>,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Add the rows of recordings to a place
    Add {
        /// Recordings, directories or packed ones
        #[arg(required = true, value_name = "RECORDING")]
        recordings: Vec<PathBuf>,
        /// Where to add them: a directory, made where it is missing, or a bucket,
        /// s3://BUCKET/PREFIX, whose endpoint, region and credentials are those of the environment
        /// (AWS_...)
        #[arg(long, value_name = "PLACE")]
        to: PathBuf,
    },
    /// Make tables of Apache Iceberg of the rows at a place, or bring them up to date
    Register {
        /// Where rows were added
        #[arg(long, value_name = "PLACE", default_value = ".")]
        at: PathBuf,
        /// The directory of the catalogue and of the metadata of its tables [PLACE/iceberg]
        #[arg(long, value_name = "DIR")]
        catalog: Option<PathBuf>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum EngineName {
    Duckdb,
    Clickhouse,
    Spark,
    Trino,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl Args {
    /// Adds, asks or lists.
    pub fn run(self) -> Result<Outcome> {
        if let Some(Command::Add { recordings, to }) = &self.command {
            let inputs = Inputs::of(recordings, true)?;
            let bucket = bucket::named(to).transpose()?;
            for (path, file) in recordings.iter().zip(&inputs.paths) {
                let named = || fathom_render::printable(&path.display().to_string()).into_owned();
                let mut recording = Recording::new();
                recording.append(fathom_recording::open(file)?);
                fathom_ingest::leave_out_duplicates(&mut recording);
                recording.seal();
                let added = match &bucket {
                    Some(bucket) => fathom_fleet::add_to_bucket(&recording, bucket),
                    None => fathom_fleet::add(&recording, to),
                };
                let outcome = match added.map_err(bucket::user_error).with_context(named)? {
                    Added::Written { place, rows, bytes } => {
                        let (rows, size) = (quantity::whole(rows as u64), quantity::bytes(bytes as f64));
                        format!("{rows} rows, {size}, into {}", place.display())
                    }
                    Added::There { place } => format!("there already, in {}", place.display()),
                };
                eprintln!("fathom: {}: {}", named(), fathom_render::printable(&outcome));
            }
            return Ok(Outcome::Done);
        }
        if let Some(Command::Register { at, catalog }) = &self.command {
            let catalog = catalog.clone().unwrap_or_else(|| at.join("iceberg"));
            for made in fathom_fleet::register(at, &catalog, &python()).map_err(what_is_missing)? {
                let metadata = made.metadata.display().to_string();
                print(&format!(
                    "{}.{}: {} files, {} of them new, {} gone; {}\n",
                    NAMESPACE,
                    made.table,
                    made.files,
                    made.added,
                    made.removed,
                    fathom_render::printable(&metadata)
                ))?;
            }
            return Ok(Outcome::Done);
        }
        let Some(name) = &self.question else {
            print(&list())?;
            return Ok(Outcome::Done);
        };
        let Some(question) = Question::find(name) else {
            let names: Vec<&str> = QUESTIONS.iter().map(|question| question.name).collect();
            bail!("no query {name}; there are {}", names.join(", "));
        };
        let engine = match self.engine {
            EngineName::Duckdb => SqlEngine::DuckDb,
            EngineName::Clickhouse => SqlEngine::ClickHouse,
            EngineName::Spark => SqlEngine::Spark,
            EngineName::Trino => SqlEngine::Trino,
        };
        let answer = self.ask(question, engine, &self.set)?;
        if let Some(html) = &self.html {
            return self.write_page(html, question, engine, &answer);
        }
        if self.json {
            print_json(&json!({
                "schema": SCHEMA, "question": question.name, "about": question.about(), "engine": engine.name(),
                "columns": answer.columns, "rows": answer.rows,
            }))?;
        } else {
            print(&fathom_render::fleet::text(&answer.columns, &answer.rows, columns()))?;
            if answer.rows.is_empty() {
                let parameters: Vec<&str> = question.parameters().iter().map(|p| p.name).collect();
                eprintln!(
                    "fathom: nothing here matches; the query has the parameters {} (fathom fleet says what each means)",
                    parameters.join(", ")
                );
            }
        }
        Ok(Outcome::Done)
    }
}

impl Args {
    /// Asks an engine; of a bucket, the files that the question needs are fetched first.
    fn ask(&self, question: &Question, engine: SqlEngine, set: &[(String, String)]) -> Result<Answer> {
        let mirror = match bucket::named(&self.at) {
            Some(bucket) => Some(bucket?.mirror(question, set).map_err(bucket::user_error)?),
            None => None,
        };
        if let Some(mirror) = mirror.as_ref().filter(|mirror| mirror.fetched > 0) {
            eprintln!(
                "fathom: fetched {} files ({} kB) into {}",
                mirror.fetched,
                mirror.fetched_bytes / 1000,
                fathom_render::printable(&mirror.dir.display().to_string())
            );
        }
        let at = mirror.as_ref().map_or(&self.at, |mirror| &mirror.dir);
        engine.ask(question, at, set, &python()).map_err(what_is_missing)
    }

    /// The answer as a page, with two more answers: shares by day where it names methods or
    /// categories, and recordings where it is not about them itself.
    fn write_page(
        &self,
        file: &Path,
        question: &Question,
        engine: SqlEngine,
        answer: &Answer,
    ) -> Result<Outcome> {
        let more = |name: &str, top: &str| -> Result<Option<Answer>> {
            let Some(question) = Question::find(name) else { return Ok(None) };
            let known = question.parameters();
            let mut set: Vec<(String, String)> =
                self.set.iter().filter(|(name, _)| known.iter().any(|p| p.name == name)).cloned().collect();
            set.retain(|(name, _)| name != "top" && name != "least");
            set.push(("top".into(), top.into()));
            Ok(Some(self.ask(question, engine, &set)?))
        };
        let has = |column: &str| answer.columns.iter().any(|name| name == column);
        let names = question.name != "trend" && ["method", "heading", "what"].into_iter().any(has);
        let trend = if names { more("trend", MOST_POINTS)? } else { None };
        let recordings =
            if question.name == "recordings" { None } else { more("recordings", MOST_RECORDINGS)? };
        let set: Vec<String> = self.set.iter().map(|(name, value)| format!(", {name}={value}")).collect();
        let of = format!("{} with {}{}", self.at.display(), engine.name(), set.concat());
        let page = fathom_render::fleet::page(&fathom_render::fleet::Page {
            about: question.about(),
            of: &of,
            answer: rows(answer),
            trend: trend.as_ref().map(rows),
            recordings: recordings.as_ref().map(rows),
        });
        write_file(file, |out| out.write_all(page.as_bytes()))?;
        eprintln!("fathom: wrote {}", fathom_render::printable(&file.display().to_string()));
        Ok(Outcome::Done)
    }
}

fn rows(answer: &Answer) -> fathom_render::fleet::Rows<'_> {
    fathom_render::fleet::Rows { columns: &answer.columns, rows: &answer.rows }
}

/// What the machine lacks is another exit status than a question that is refused.
fn what_is_missing(error: FleetError) -> anyhow::Error {
    match error {
        FleetError::NoSqlEngine { .. } | FleetError::NoPython { .. } | FleetError::NoJava => {
            Environment(error.to_string()).into()
        }
        error => error.into(),
    }
}

/// The questions, each with its parameters.
fn list() -> String {
    let mut out = String::new();
    for question in QUESTIONS {
        out.push_str(&format!("{:<10} {}\n", question.name, question.about()));
        for parameter in question.parameters() {
            let default = if parameter.default.is_empty() { "none" } else { parameter.default };
            out.push_str(&format!("             {}: {} [{default}]\n", parameter.name, parameter.meaning));
        }
    }
    out.push_str("\nRun one with: fathom fleet QUERY --at PLACE --set NAME=VALUE\n");
    out
}
