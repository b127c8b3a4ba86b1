//! A holder in sentences.

use fathom_diagnose::quantity;
use fathom_heap::report::{Bound, HeldBy, Holder, SUSPECT_ENTRIES, SUSPECT_SHARE, Suspicion};

use crate::printable;

/// "1.9 GB of 2.4 GB (79%) is kept by one java.util.concurrent.ConcurrentHashMap in
/// SessionCache.sessions (static): …".
pub(super) fn sentence(holder: &Holder, reachable: u64) -> String {
    let bytes = |n: u64| quantity::bytes(n as f64);
    let class = printable(&holder.class);
    let number = match holder.objects {
        1 => "one ".to_owned(),
        n => format!("{} objects of ", quantity::count(n as f64)),
    };
    let number = if holder.class.starts_with("class ") { String::new() } else { number };
    let mut text = format!(
        "{} of {} ({}) {} kept by {number}{class}",
        bytes(holder.retained_bytes),
        bytes(reachable),
        quantity::share(holder.share),
        if holder.retained_bytes < 2 { "is" } else { "are" },
    );
    if let Some(field) = &holder.static_field {
        text += &format!(" in {} (static)", printable(field));
    }
    text += &other_roots(holder);
    if let Some(field) = &holder.thread_local {
        text += &format!(" as value of {} (static ThreadLocal)", printable(field));
    }
    if let Some((first, others)) = holder.threads.split_first() {
        text += &format!(", held by thread {:?}", printable(first));
        text += &match others.len() {
            0 => String::new(),
            n => format!(" and {} more", quantity::count(n as f64)),
        };
    }
    if let Some(loader) = &holder.loader {
        text += &format!(", whose class {} loaded", printable(loader));
    }
    if let Some(entries) = &holder.entries {
        text += &format!(
            ": {} of {}, {} each",
            quantity::plural(entries.count as usize, "entry", "entries"),
            printable(&entries.class),
            bytes(entries.retained_bytes / entries.count.max(1)),
        );
    }
    if let Some(loaders) = &holder.loaders {
        text += &format!(
            "; {} of {} stay with it, which loaded {} again and again",
            quantity::plural(loaders.count as usize, "class loader", "class loaders"),
            printable(&loaders.class),
            printable(&loaders.repeated),
        );
    }
    text
}

/// The roots that hold it besides the static field that was named: more static fields, local
/// variables by thread, others by kind.
fn other_roots(holder: &Holder) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut locals: Vec<(&str, Vec<&str>)> = Vec::new();
    for held_by in &holder.held_by {
        match held_by {
            HeldBy::Static { field } if Some(field) == holder.static_field.as_ref() => {}
            HeldBy::Static { field } => parts.push(format!("{} (static)", printable(field))),
            HeldBy::Root { kind } => parts.push(super::way::root(*kind).to_owned()),
            HeldBy::Local { thread, frame } => {
                let frame = frame.as_deref().unwrap_or("a method");
                match locals.iter_mut().find(|(of, _)| of == thread) {
                    Some((_, frames)) => frames.push(frame),
                    None => locals.push((thread, vec![frame])),
                }
            }
        }
    }
    for (thread, frames) in locals {
        let others = match frames.len() - 1 {
            0 => String::new(),
            n => format!(" and {}", quantity::plural(n, "other", "others")),
        };
        let variables = if frames.len() > 1 { "local variables" } else { "a local variable" };
        parts.push(format!(
            "{variables} of {}{others} in thread {:?}",
            printable(frames[0]),
            printable(thread)
        ));
    }
    match (holder.static_field.is_some(), parts.len()) {
        (_, 0) => String::new(),
        (true, _) => format!(" and in {}", parts.join(", ")),
        (false, _) => format!(" in {}", parts.join(", ")),
    }
}

/// Whether it is a suspect, and by which measure; or why not.
pub(super) fn judged(holder: &Holder) -> String {
    let share = quantity::share(SUSPECT_SHARE);
    match (&holder.suspicion, &holder.bound) {
        (Some(Suspicion::UnboundedEntries), _) => format!(
            "suspect: more than {share} of the heap in more than {} entries, and no bound is seen; a table that is loaded once \
             looks the same, and a second dump tells them apart (fathom heap A B)",
            quantity::count(SUSPECT_ENTRIES as f64)
        ),
        (Some(Suspicion::RepeatedLoaders), _) => format!(
            "suspect: more than {share} of the heap in class loaders of one kind that are held side by side; of what was \
             deployed again only the last one should be left"
        ),
        (Some(Suspicion::ThreadLocals), _) => format!(
            "suspect: more than {share} of the heap in values of ThreadLocals of threads that go on; they stay until the \
             thread ends or remove() is called"
        ),
        (Some(Suspicion::Finalizers), _) => format!(
            "suspect: more than {share} of the heap in objects with finalize(); they stay until the finalizer thread has run it, \
             which waits where one of these methods does"
        ),
        (None, Some(Bound::Field { class, name, value })) => format!(
            "not suspected: {}.{} is {}, which it has not exceeded",
            printable(class),
            printable(name),
            quantity::count(*value as f64)
        ),
        (None, Some(Bound::Array { class, length })) => format!(
            "not suspected: it is as long as the array of its {}, of {}",
            printable(class),
            quantity::plural(usize::try_from(*length).unwrap_or(usize::MAX), "element", "elements")
        ),
        (None, Some(Bound::Soft { class })) => {
            format!("not suspected: {} holds it, and is cleared where memory runs short", printable(class))
        }
        (None, Some(Bound::Evicts { class })) => format!(
            "not suspected: {} is a class of the application below LinkedHashMap, as caches are that evict the eldest; whether \
             it does, a dump does not show",
            printable(class)
        ),
        (None, None) if holder.share < SUSPECT_SHARE => {
            format!("not suspected: it is less than {share} of the heap")
        }
        (None, None) => match &holder.entries {
            Some(entries) => format!(
                "not suspected: it has {}, fewer than {}",
                quantity::plural(usize::try_from(entries.count).unwrap_or(usize::MAX), "entry", "entries"),
                quantity::count(SUSPECT_ENTRIES as f64)
            ),
            None => "not suspected: no collection is seen here whose entries could grow".to_owned(),
        },
    }
}
