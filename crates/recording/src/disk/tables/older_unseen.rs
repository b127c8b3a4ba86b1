//! What recordings without [`Scope`]s say in words alone of which records are missing: those of
//! 0.9 and before.

use crate::vocabulary::{kind, source};
use crate::{Scope, Source, Unseen};

/// What of the waits that a collector did see it does not know, and what has no more to do with
/// them than the collector: with the kinds of spans that are missing.
const SAID: [(&str, &str, &[&str]); 6] = [
    (source::NETWORK, "TLS handshakes", &[kind::NET_TLS]),
    (source::NETWORK, "stacks of ", &[]),
    (source::NETWORK, "short-lived children", &[]),
    (source::LOCKS, "waits for locks: their stacks", &[]),
    (source::LOCKS, "waits for locks: who held", &[]),
    (source::LOCKS, "for work (", &[]),
];

/// What is about virtual threads says so, and how it begins where they were looked at some times a
/// second.
const VIRTUAL: &str = "virtual threads";
const SHORT: &str = "single short waits";

/// Adds the scopes that the words of a source show.
pub(super) fn scopes(source: &mut Source) {
    let format = source.format.clone();
    for unseen in source.unseen.iter_mut() {
        if unseen.scope.is_none() {
            unseen.scope = scope(&format, unseen);
        }
        if format == source::LOCKS && unseen.what.contains(VIRTUAL) {
            let hidden = !unseen.what.starts_with(SHORT);
            unseen.scope.get_or_insert_default().virtual_threads.get_or_insert(hidden);
        }
    }
}

fn scope(format: &str, unseen: &Unseen) -> Option<Scope> {
    let said = SAID.iter().find(|(of, words, _)| *of == format && unseen.what.contains(words));
    let process =
        unseen.what.split_once("process ").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
    let of_these = [source::NETWORK, source::LOCKS].contains(&format);
    said.map(|(.., kinds)| Scope::of_kinds(kinds)).or(process.filter(|_| of_these).map(Scope::of_process))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_in_words_hides_the_kinds_and_the_process_that_it_names() {
        let hides = |format: &str, what: &str, kind: &str| {
            let unseen = Unseen { what: what.into(), ..Unseen::default() };
            let mut source = Source { format: format.into(), unseen: vec![unseen], ..Source::default() };
            scopes(&mut source);
            source.unseen[0].may_hide(kind, Some(7))
        };
        let dns = |what| hides(source::NETWORK, what, kind::NET_DNS);
        assert!(dns("names that process 7 resolves") && dns("names"));
        assert!(!dns("names that process 8 resolves") && !dns("TLS handshakes"));
        assert!(!dns("stacks of 1561 connections and look-ups"));
        let locks = |what| hides(source::LOCKS, what, kind::LOCK_MONITOR);
        assert!(locks("waits") && !locks("30 waits for locks: their stacks"));
        assert!(!locks("9 waits of virtual threads for work (parked, Object.wait)"));
    }

    #[test]
    fn words_show_whether_waits_of_virtual_threads_are_hidden_where_no_scope_says_it() {
        let hides = |what: &str, scope: Option<Scope>| {
            let unseen = Unseen { what: what.into(), scope, ..Unseen::default() };
            let mut source =
                Source { format: source::LOCKS.into(), unseen: vec![unseen], ..Source::default() };
            scopes(&mut source);
            source.unseen[0].hides_virtual_threads()
        };
        let all = "locks that virtual threads of process 7 wait for without their carriers";
        let short = "single short waits of virtual threads of process 7 without their carriers";
        for scope in [None, Some(Scope::of_process(7))] {
            assert!(hides(all, scope.clone()) && !hides(short, scope.clone()) && !hides("waits", scope));
        }
        let said = |hidden| Some(Scope::of_process(7).of_virtual_threads(hidden));
        assert!(!hides(all, said(false)) && hides(short, said(true)));
    }
}
