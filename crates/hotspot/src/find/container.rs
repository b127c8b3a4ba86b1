//! The container and the control group of a process, from `/proc/PID/cgroup` (cgroups(7)).

/// Hexadecimal digits of a container's id: Docker, containerd, CRI-O and Podman all use a SHA-256.
const ID_DIGITS: usize = 64;

/// Where a process is confined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Its control group: of the unified hierarchy (v2), else of the CPU controller's (v1).
    pub cgroup: Option<String>,
    /// Id of its container, all digits.
    pub container: Option<String>,
}

impl Confinement {
    /// Reads it for a process; empty where it cannot be read.
    pub fn of(pid: u32) -> Self {
        std::fs::read_to_string(format!("/proc/{pid}/cgroup"))
            .map_or_else(|_| Self::default(), |t| Self::parse(&t))
    }

    /// Parses the text of a `cgroup` file: `hierarchy:controllers:path` per line.
    fn parse(text: &str) -> Self {
        let lines = || {
            text.lines().filter_map(|line| {
                let (_, rest) = line.split_once(':')?;
                rest.split_once(':')
            })
        };
        let unified = lines().find(|(controllers, _)| controllers.is_empty());
        let cpu = lines().find(|(controllers, _)| controllers.split(',').any(|c| c == "cpu"));
        // In a v1 host that also mounts v2, everything is in the root of v2.
        let named = unified.filter(|(_, path)| *path != "/").or(cpu).or(unified);
        Self {
            cgroup: named.map(|(_, path)| path.to_owned()),
            container: lines().find_map(|(_, path)| container_id(path)),
        }
    }
}

/// "…/docker-<id>.scope", "/docker/<id>", "/kubepods/…/cri-containerd-<id>.scope",
/// "…/libpod-<id>.scope/container".
fn container_id(path: &str) -> Option<String> {
    path.rsplit('/').find_map(|part| {
        let part = part.strip_suffix(".scope").unwrap_or(part);
        let id = part.rsplit(['-', ':']).next()?;
        let is_id = id.len() == ID_DIGITS && id.bytes().all(|b| b.is_ascii_hexdigit());
        is_id.then(|| id.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_of_the_usual_runtimes_are_found() {
        let id = "0123456789abcdef".repeat(4);
        for path in [
            format!("0::/system.slice/docker-{id}.scope\n"),
            format!("4:cpu,cpuacct:/docker/{id}\n0::/\n"),
            format!("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{id}.scope\n"),
            format!("0::/machine.slice/libpod-{id}.scope/container\n"),
            format!("1:name=systemd:/x\n0::/kubepods-besteffort-pod1.slice:cri-containerd:{id}\n"),
        ] {
            assert_eq!(Confinement::parse(&path).container.as_deref(), Some(id.as_str()), "{path}");
        }
        assert_eq!(Confinement::parse("0::/user.slice/session-2.scope\n").container, None);
    }

    #[test]
    fn the_group_of_the_cpu_controller_counts_where_v2_is_empty() {
        let confinement = Confinement::parse("4:cpu,cpuacct:/app\n0::/\n");
        assert_eq!(confinement.cgroup.as_deref(), Some("/app"));
        assert_eq!(Confinement::parse("0::/a:b\n").cgroup.as_deref(), Some("/a:b"));
        assert_eq!(Confinement::parse(""), Confinement::default());
    }
}
