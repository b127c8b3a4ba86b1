//! `fathom receive`: takes the profiles that clients push, and keeps them as files.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use fathom_capture::slow::limit::bytes;

use crate::exit::Outcome;
use crate::receive::{Limits, Receiver, Store};

/// Arguments of `fathom receive`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Receive the profiles that clients push (Pyroscope, OTLP) and keep them as files",
    long_about = "Takes profiles that clients push over HTTP, and keeps each as a file that every command reads.

POST /ingest is what Pyroscope's agents and scripts send (JFR, pprof or folded stacks, alone or as a form); \
POST /v1development/profiles is OTLP over HTTP (protobuf). What arrives is looked at by content, written whole and \
never changed: DIR/day=…/service=…/host=…/TIME-ID.jfr (.pb, .otlp, .folded; with .gz where it was packed). Directories and files \
are private. What is too large, of no known format, or sent by a page in a browser is refused.

It listens on a loopback address. On any other it wants --token-file: clients then send that token \
(Authorization: Bearer TOKEN, or as the password of a user). There is no TLS: put a proxy in front where the network is \
not trusted.",
    after_long_help = "\
Examples:
  fathom receive --out /srv/profiles                       listens on 127.0.0.1:4040, Pyroscope's port
  java -javaagent:pyroscope.jar …                          with PYROSCOPE_SERVER_ADDRESS=http://127.0.0.1:4040
  curl --data-binary @app.jfr 'http://127.0.0.1:4040/ingest?name=shop'
  curl -H 'Content-Type: application/x-protobuf' --data-binary @x.otlp http://127.0.0.1:4040/v1development/profiles
  fathom diagnose /srv/profiles/day=2026-11-29/service=shop/host=web-1 --window 14:05..14:06
  fathom receive --out /srv/profiles --listen 10.0.0.5:4040 --token-file /etc/fathom/token"
)]
pub struct Args {
    /// Where files go; it is made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Address and port to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4040")]
    listen: SocketAddr,
    /// Largest request that is taken, as it is sent
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "64MB")]
    max_request: u64,
    /// Most that DIR may hold; above it requests are refused until something is removed
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "1GB")]
    max_disk: u64,
    /// A file with the token that clients must send
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl Args {
    /// Receives until it is ended.
    pub fn run(self) -> Result<Outcome> {
        let token = self.token_file.as_ref().map(|file| {
            let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
            let token = text.trim().to_owned();
            anyhow::ensure!(!token.is_empty(), "{}: there is no token in it", file.display());
            Ok(token)
        });
        let token = token.transpose()?;
        if token.is_none() && !self.listen.ip().is_loopback() {
            bail!(
                "{} can be reached by others, who could fill the disk: --token-file names what they must send",
                self.listen.ip()
            );
        }
        let store = Store::open(self.out, self.max_disk)?;
        let receiver = Receiver::new(store, Limits { request: self.max_request }, token);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("starting the server")?;
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind(self.listen).await.with_context(|| {
                format!("{}: cannot listen there; --listen takes another one", self.listen)
            })?;
            eprintln!("fathom: listening on http://{}", listener.local_addr()?);
            receiver.serve(listener).await.context("the server")
        })?;
        Ok(Outcome::Done)
    }
}
