//! What a session offers to its collectors, each of which declares what it needs: the tables by
//! which stacks are walked, programs that collectors hang theirs on, and what one of them sees for
//! another.

use std::rc::Rc;

use crate::Unavailable;
use crate::bpf::dispatcher::Dispatcher;
use crate::bpf::interrupts::Interrupts;
use crate::dns_queries::DnsQueries;
use crate::starts::Starts;
use crate::thread_context::{Looks, SpansSeen};
use crate::unwind::SharedUnwinder;

/// A service that a collector may need. The session makes it before the first of them starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Stacks: [`Services::unwinder`].
    Unwinder,
    /// Programs on system calls and switches: [`Services::dispatcher`].
    Dispatcher,
    /// What interrupted a CPU: [`Services::interrupts`].
    Interrupts,
}

/// What the collectors of a session have in common.
#[derive(Default)]
pub struct Services {
    /// See [`Services::unwinder`]; made by the session, which knows the processes.
    pub(crate) unwinder: Option<SharedUnwinder>,
    /// When the recording ended, monotonic nanoseconds: collectors are stopped one after the other.
    pub(crate) ended_ns: Option<u64>,
    /// What threads asked of resolvers: seen by `syscalls`, for `network`.
    pub(crate) dns_queries: DnsQueries,
    /// Starts of threads, of which `sched` and `jvm-events` see a part each. Written by `sched`.
    pub(crate) starts: Starts,
    /// Processes whose threads may have trace contexts; looked at by the session.
    pub(crate) contexts: Looks,
    /// In which spans threads were seen. Written by the session.
    pub(crate) spans_seen: SpansSeen,
    dispatcher: Option<Rc<Dispatcher>>,
    interrupts: Option<Result<Rc<Interrupts>, Unavailable>>,
    /// What was made or tried.
    made: Vec<Service>,
}

impl Services {
    /// Makes what a collector needs and nobody has asked for yet; returns whether the unwinder is
    /// among it, which is the session's to make.
    pub(crate) fn make(&mut self, needs: &[Service]) -> bool {
        let mut wants_unwinder = false;
        for service in needs {
            if self.made.contains(service) {
                continue;
            }
            self.made.push(*service);
            match service {
                Service::Unwinder => wants_unwinder = true,
                Service::Dispatcher => self.dispatcher = Dispatcher::load().ok(),
                Service::Interrupts => self.interrupts = Some(Interrupts::start()),
            }
        }
        wants_unwinder
    }

    /// The tables and names by which stacks are walked; `None` where they cannot be loaded.
    pub fn unwinder(&self) -> Option<&SharedUnwinder> {
        self.is_declared(Service::Unwinder);
        self.unwinder.as_ref()
    }

    /// The programs on the tracepoints of system calls and switches; `None` where they cannot be
    /// loaded, and each collector attaches its own.
    pub(crate) fn dispatcher(&self) -> Option<Rc<Dispatcher>> {
        self.is_declared(Service::Dispatcher);
        self.dispatcher.clone()
    }

    /// What interrupts CPUs; `Err` where that cannot be seen, and whoever is interrupted passes for
    /// the waker.
    pub(crate) fn interrupts(&self) -> Result<Rc<Interrupts>, Unavailable> {
        self.is_declared(Service::Interrupts);
        self.interrupts.clone().unwrap_or_else(Interrupts::start)
    }

    /// In builds for tests: that somebody declared the service that is asked for.
    fn is_declared(&self, service: Service) {
        debug_assert!(self.made.contains(&service), "{service:?} is in no collector's `needs`");
    }
}
