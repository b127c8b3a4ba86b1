//! `fathom serve`: the report of recordings that are too large for a page, or still being written,
//! in a browser.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anyhow::{Context, Result, bail};

use crate::exit::Outcome;
use crate::inputs::InputArgs;
use crate::marks::MarkArgs;
use crate::serve::{Guard, Served, serve};
use crate::windows::WindowArgs;

/// Arguments of `fathom serve`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Serve the report from this machine: for large recordings, and for one that is still being written",
    long_about = "Serves the report to a browser from this machine: for recordings with more samples than a page \
holds (the server aggregates them), and for one that is still being written (the page follows it).

It listens on a loopback address and answers only requests that have the address that it prints: a key of 128 \
random bits is part of it. Requests from another site, or under another host name, are refused.",
    after_long_help = "\
Examples:
  fathom serve slow.fathom                    prints the address to open
  fathom record -p 4242 -o live.fathom & fathom serve live.fathom    watch it while it is recorded
  ssh -L 8421:127.0.0.1:8421 host fathom serve /tmp/slow.fathom      from another machine, through ssh"
)]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    windows: WindowArgs,
    #[command(flatten)]
    marks: MarkArgs,
    /// Port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 8421)]
    port: u16,
    /// Address to listen on. Any other than a loopback address lets in everybody who can reach it
    /// and has the key
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
    /// No key in the address: whoever can connect may read. Only on a loopback address
    #[arg(long)]
    no_token: bool,
}

impl Args {
    /// Serves until it is interrupted.
    pub fn run(self) -> Result<Outcome> {
        if self.no_token && !self.bind.is_loopback() {
            bail!(
                "--no-token is for addresses of this machine alone; {} can be reached by others",
                self.bind
            );
        }
        let served = Served::load(self.inputs, self.windows, self.marks)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("starting the server")?;
        runtime.block_on(async {
            let wanted = SocketAddr::new(self.bind, self.port);
            let listener = tokio::net::TcpListener::bind(wanted)
                .await
                .with_context(|| format!("{wanted}: cannot listen there; --port takes another one"))?;
            let address = listener.local_addr()?;
            let guard = Guard::new(address, !self.no_token)?;
            eprintln!("fathom: open {}", guard.address());
            serve(listener, guard, served).await.context("the server")
        })?;
        Ok(Outcome::Done)
    }
}
