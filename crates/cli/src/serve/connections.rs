//! Connections to the server, few and none idle for long: whoever can connect, with or without the
//! key, must neither use up the descriptors of this process nor keep a reader out.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep};

/// Connections at a time. A browser opens six to one host; for a further one the connection that
/// has been idle longest is closed.
const MOST: usize = 64;
/// A connection on which nothing moves for so long is closed. The page asks again at least every
/// few seconds while it follows a recording, and a browser opens a new connection when it needs
/// one.
const IDLE: Duration = Duration::from_secs(20);
/// How long to wait after a failure to accept that has nothing to do with one connection (no
/// descriptors left).
const AGAIN: Duration = Duration::from_millis(200);

/// A listener that holds [`MOST`] connections and closes those that are idle.
pub struct Limited {
    listener: TcpListener,
    begun: Instant,
    open: Vec<Open>,
}

/// A connection as the listener knows it.
struct Open {
    /// When something last moved on it, milliseconds since the listener began.
    moved_ms: Arc<AtomicU64>,
    /// Closes the connection when it is dropped.
    keep: oneshot::Sender<()>,
}

impl Limited {
    /// Connections of `listener`.
    pub fn new(listener: TcpListener) -> Self {
        Self { listener, begun: Instant::now(), open: Vec::new() }
    }

    fn admit(&mut self, stream: TcpStream) -> Connection {
        self.open.retain(|open| !open.keep.is_closed());
        if self.open.len() >= MOST {
            let idlest =
                self.open.iter().enumerate().min_by_key(|(_, open)| open.moved_ms.load(Ordering::Relaxed));
            if let Some(idlest) = idlest.map(|(at, _)| at) {
                drop(self.open.swap_remove(idlest));
            }
        }
        let moved_ms = Arc::new(AtomicU64::new(since(self.begun)));
        let (keep, closed) = oneshot::channel();
        self.open.push(Open { moved_ms: Arc::clone(&moved_ms), keep });
        Connection { stream, idle: Box::pin(sleep(IDLE)), begun: self.begun, moved_ms, closed }
    }
}

fn since(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX)
}

impl Listener for Limited {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, from)) => return (self.admit(stream), from),
                // A peer that gave up before it was accepted is no reason to wait.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => sleep(AGAIN).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that ends when nothing has moved on it for [`IDLE`], or when its place is needed.
pub struct Connection {
    stream: TcpStream,
    idle: Pin<Box<Sleep>>,
    begun: Instant,
    moved_ms: Arc<AtomicU64>,
    closed: oneshot::Receiver<()>,
}

impl Connection {
    /// Passes on what a read or a write gave, and ends the connection where that waits for too
    /// long.
    fn watched<T>(&mut self, polled: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.moved_ms.store(since(self.begun), Ordering::Relaxed);
            self.idle.as_mut().reset(Instant::now() + IDLE);
            return polled;
        }
        let ended = self.idle.as_mut().poll(cx).is_ready() || Pin::new(&mut self.closed).poll(cx).is_ready();
        if ended { Poll::Ready(Err(io::ErrorKind::TimedOut.into())) } else { Poll::Pending }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.watched(polled, cx)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.watched(polled, cx)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(cx);
        self.watched(polled, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.watched(polled, cx)
    }
}
