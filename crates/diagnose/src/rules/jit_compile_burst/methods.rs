//! Which methods became hot for the first time, and whose they are.

use std::collections::{BTreeMap, HashSet};

use super::Burst;
use crate::Fact;
use crate::facts::{Value, culprits};
use crate::rules::jit_case::{JitCase, Task};

/// One copy of a method is asked for at tiers 2 and 3 at most once each; more are copies by other
/// class loaders, or overloads (names have no signature), of which some are new. What is thrown
/// away again and again does not count here.
const BEGUN_ONCE: usize = 2;
/// Levels of a package name that are distinguished: "org.shop.order", whatever lies below.
const LEVELS: usize = 3;
/// Packages that are named.
const NAMED: usize = 3;

/// Methods of the bursts that had not been compiled or queued before, most expensive first, with
/// the time that their tasks were under way. A name known from before is new as well where several
/// class loaders bring a copy each.
pub(super) fn newly_hot<'a>(jit: &JitCase<'_, '_>, bursts: &[Burst<'a>]) -> Vec<(&'a str, f64)> {
    let onset = bursts.iter().map(|b| b.onset_ns).min().unwrap_or(i64::MAX);
    let before: HashSet<&str> =
        jit.tasks.iter().take_while(|t| t.queued_ns < onset).map(Task::method).collect();
    let mut begun: BTreeMap<&str, usize> = BTreeMap::new();
    for task in bursts.iter().flat_map(|b| &b.tasks).filter(|t| !t.osr && matches!(t.tier, Some(2 | 3))) {
        *begun.entry(task.method()).or_default() += 1;
    }
    let copied = |method: &str| begun.get(method).is_some_and(|n| *n > BEGUN_ONCE);
    let mut fresh: BTreeMap<&'a str, f64> = BTreeMap::new();
    let is_new = |t: &&Task<'a>| !before.contains(t.method()) || copied(t.method());
    for task in bursts.iter().flat_map(|b| &b.tasks).filter(is_new) {
        let from = task.started_ns.unwrap_or(task.queued_ns);
        *fresh.entry(task.method()).or_default() += task.done_ns.saturating_sub(from) as f64 / 1e6;
    }
    let mut fresh: Vec<_> = fresh.into_iter().collect();
    fresh.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    fresh
}

/// The package of a method, its first levels: "org.shop.order" of
/// "org.shop.order.cart.Cart.add(I)V".
fn package(method: &str) -> &str {
    let name = method.split(['(', ' ']).next().unwrap_or(method);
    let class = name.rsplit_once('.').map_or("", |(class, _)| class);
    let package = class.rsplit_once('.').map_or(class, |(package, _)| package);
    let end = package.match_indices('.').nth(LEVELS - 1).map_or(package.len(), |(at, _)| at);
    &package[..end]
}

/// The packages that most of the methods are of. The JDK's own are named when there is nothing
/// else: what became hot is the application's path, which the JDK's methods serve.
pub(super) fn packages(fresh: &[(&str, f64)]) -> Fact {
    let platform = |p: &str| ["java.", "javax.", "jdk.", "sun.", "com.sun."].iter().any(|s| p.starts_with(s));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (method, _) in fresh {
        *counts.entry(package(method)).or_default() += 1;
    }
    let mut order: Vec<_> = counts.into_iter().collect();
    order.sort_by_key(|(p, n)| (platform(p), std::cmp::Reverse(*n)));
    let one = |(p, n): &(&str, usize)| {
        let name = if p.is_empty() { "default package" } else { p };
        culprits::PACKAGE.is(Value::count(*n)).with("package", Value::name(name))
    };
    let more = order.len().saturating_sub(NAMED);
    let packages = Value::list(order.iter().take(NAMED).map(one));
    let more = (more > 0).then(|| Value::count(more));
    culprits::PACKAGES.fact().with("packages", packages).with("more", more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_what_is_before_class_and_method() {
        assert_eq!(package("org.shop.order.Cart.add(ILjava/lang/String;)V"), "org.shop.order");
        assert_eq!(package("org.shop.order.cart.old.Cart.add"), "org.shop.order");
        assert_eq!(package("Main.run()V"), "Main");
        assert_eq!(package("weird"), "");
    }
}
