//! Which host, boot, container and service the recorded processes belong to, from the kernel's
//! files and from what they publish of themselves.
//!
//! Read once at the start, from files that any user may read and, where it may be read, from the
//! process' memory; of an environment one variable is looked for and nothing else is kept.

use std::io::Read;
use std::path::Path;

use fathom_recording::identity::plain;
use fathom_recording::{Identity, ServiceFrom};

use crate::process_context;

/// Bytes of a file of `/proc` that are read: environments are the largest, and bounded by the
/// kernel's stack limit.
const MOST: u64 = 2 << 20;
/// The variable that OpenTelemetry's SDKs take the service's name from.
const OTEL_SERVICE_NAME: &[u8] = b"OTEL_SERVICE_NAME=";
/// Digits of a container's id with Docker, containerd, CRI-O and Podman.
const CONTAINER_DIGITS: usize = 64;

/// What is known of the host, and what these processes have in common.
pub fn identity(pids: impl IntoIterator<Item = i32>) -> Identity {
    let host = Identity {
        host: text("/proc/sys/kernel/hostname"),
        boot: text("/proc/sys/kernel/random/boot_id"),
        ..Identity::default()
    };
    let mut all = pids.into_iter().map(|pid| of_process(Path::new(&format!("/proc/{pid}")), &host));
    let Some(mut identity) = all.next() else { return host };
    all.for_each(|other| identity.in_common(&other));
    identity
}

fn text(path: &str) -> Option<String> {
    let text = String::from_utf8_lossy(&read(Path::new(path))).trim().to_owned();
    Some(plain(&text)).filter(|text| !text.is_empty())
}

fn read(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What cannot be read is not known.
    let _ = std::fs::File::open(path).and_then(|file| file.take(MOST).read_to_end(&mut bytes));
    bytes
}

/// `proc`: the process' directory in `/proc`.
fn of_process(proc: &Path, host: &Identity) -> Identity {
    let cgroup = cgroup(&String::from_utf8_lossy(&read(&proc.join("cgroup"))));
    let named = variable(&read(&proc.join("environ")), OTEL_SERVICE_NAME);
    let unit = cgroup.as_deref().and_then(unit);
    // What a program calls itself in its other signals, above what it was given to call itself.
    let pid = proc.file_name().and_then(|name| name.to_str()?.parse().ok());
    let published = pid.and_then(process_context::of).unwrap_or_default();
    let (service, service_from) = match (published.service, named, unit) {
        (Some(name), ..) => (Some(name), Some(ServiceFrom::OtelProcessContext)),
        (None, Some(name), _) => (Some(name), Some(ServiceFrom::OtelServiceName)),
        (None, None, Some(unit)) => (Some(unit), Some(ServiceFrom::SystemdUnit)),
        (None, None, None) => (None, None),
    };
    let container = cgroup.as_deref().and_then(container).or(published.container);
    let cgroup = cgroup.as_deref().map(plain);
    Identity { container, cgroup, service, service_from, version: published.version, ..host.clone() }
}

/// The control group, by the lines of `/proc/PID/cgroup`: that of version 2, else systemd's own
/// hierarchy.
pub(crate) fn cgroup(lines: &str) -> Option<String> {
    let path_of = |name: &str| {
        let of =
            |line: &str| line.split_once(':')?.1.strip_prefix(name)?.strip_prefix(':').map(str::to_owned);
        lines.lines().find_map(of)
    };
    path_of("").filter(|path| path != "/").or_else(|| path_of("name=systemd")).or_else(|| path_of(""))
}

/// The id of a container in the path of its group: "docker-ID.scope", "/docker/ID",
/// "cri-containerd-ID.scope".
fn container(cgroup: &str) -> Option<String> {
    let digits = |c: char| !c.is_ascii_hexdigit();
    let id = cgroup.split(digits).rfind(|part| part.len() == CONTAINER_DIGITS)?;
    Some(id.to_owned())
}

/// The systemd service in the path of a group, without its ending. A user's session is none.
pub(crate) fn unit(cgroup: &str) -> Option<String> {
    let unit = cgroup.rsplit('/').find_map(|part| part.strip_suffix(".service"))?;
    let own = !unit.starts_with("user@") && !unit.is_empty();
    // Units of one template ("shop@1", "shop@2") are replicas of one service.
    own.then(|| plain(unit.split('@').next().unwrap_or(unit)))
}

/// The value of a variable that environment has.
pub(crate) fn variable(environment: &[u8], name: &[u8]) -> Option<String> {
    let value = environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(name))?;
    Some(plain(&String::from_utf8_lossy(value))).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_and_units_are_known_by_the_control_group() {
        let id = "0123456789abcdef".repeat(4);
        for path in [
            format!("/system.slice/docker-{id}.scope"),
            format!("/docker/{id}"),
            format!("/kubepods.slice/kubepods-pod1234.slice/cri-containerd-{id}.scope"),
            format!("/machine.slice/libpod-{id}.scope/container"),
        ] {
            assert_eq!(container(&path).as_deref(), Some(id.as_str()), "{path}");
        }
        assert_eq!(container("/system.slice/cafe.service"), None);
        assert_eq!(unit("/system.slice/order-service.service").as_deref(), Some("order-service"));
        assert_eq!(unit("/system.slice/system-shop.slice/shop@2.service").as_deref(), Some("shop"));
        assert_eq!(unit("/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope"), None);
    }

    #[test]
    fn the_group_of_version_2_comes_first_and_systemds_own_after_it() {
        assert_eq!(cgroup("0::/a.service\n").as_deref(), Some("/a.service"));
        assert_eq!(cgroup("4:memory:/m\n1:name=systemd:/b.service\n0::/\n").as_deref(), Some("/b.service"));
        assert_eq!(cgroup("0::/\n").as_deref(), Some("/"));
        assert_eq!(cgroup(""), None);
    }

    #[test]
    fn of_an_environment_one_variable_is_taken() {
        let environment = b"PASSWORD=x\0OTEL_SERVICE_NAME=shop\0A=OTEL_SERVICE_NAME=no\0";
        assert_eq!(variable(environment, OTEL_SERVICE_NAME).as_deref(), Some("shop"));
        assert_eq!(variable(b"A=1\0OTEL_SERVICE_NAME=\0", OTEL_SERVICE_NAME), None);
    }

    #[test]
    fn this_process_is_on_a_host_that_was_booted() {
        let own = identity([std::process::id() as i32]);
        assert!(own.host.is_some() && own.boot.is_some_and(|id| id.len() == 36));
    }
}
