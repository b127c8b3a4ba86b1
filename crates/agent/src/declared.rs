//! What a JVM's start and its container's runtime declare of it: version and image.
//!
//! `OTEL_RESOURCE_ATTRIBUTES` is OpenTelemetry's variable for it (`service.version`,
//! `container.image.name`, `container.image.tag`). Where that does not name the image, the files of
//! Docker and of containerd do, for whoever may read them.

use std::io::Read;
use std::path::{Path, PathBuf};

use fathom_capture::procfs;
use fathom_recording::Identity;
use fathom_recording::identity::plain;
use serde_json::Value;

const VARIABLE: &[u8] = b"OTEL_RESOURCE_ATTRIBUTES=";
/// The label that has the image.
const IMAGE: &str = "image";
/// A container's configuration has some kilobytes.
const MOST_BYTES: u64 = 1 << 20;

/// Adds what is declared and is not known otherwise.
pub fn declared(pid: i32, mut known: Identity) -> Identity {
    let environment = procfs::read(procfs::path(pid, "environ")).unwrap_or_default();
    let text = environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(VARIABLE));
    let text = String::from_utf8_lossy(text.unwrap_or_default()).into_owned();
    known.version = known.version.take().or_else(|| attribute(&text, "service.version"));
    let container = known.container.as_deref();
    let image = image(&text).or_else(|| image_of(Path::new("/"), container?));
    if let Some(image) = image {
        known.labels.entry(IMAGE.to_owned()).or_insert(image);
    }
    known
}

/// The value of an attribute of "a=1,b=2".
fn attribute(text: &str, key: &str) -> Option<String> {
    let value = text.split(',').find_map(|pair| {
        let (its, value) = pair.split_once('=')?;
        (its.trim() == key).then(|| plain(value.trim()))
    });
    value.filter(|value| !value.is_empty())
}

fn image(text: &str) -> Option<String> {
    let name = attribute(text, "container.image.name")?;
    Some(match attribute(text, "container.image.tag") {
        Some(tag) => format!("{name}:{tag}"),
        None => name,
    })
}

/// What the runtime says of a container. `root`: of the host's files.
fn image_of(root: &Path, container: &str) -> Option<String> {
    // It becomes part of a path.
    if !container.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let docker = json(&root.join("var/lib/docker/containers").join(container).join("config.v2.json"));
    let of_docker = docker.as_ref().and_then(|docker| docker["Config"]["Image"].as_str());
    if let Some(image) = of_docker {
        return Some(plain(image));
    }
    let tasks = std::fs::read_dir(root.join("run/containerd/io.containerd.runtime.v2.task")).ok()?;
    let bundles = tasks.flatten().map(|namespace| namespace.path().join(container).join("config.json"));
    let annotations = |path: PathBuf| Some(json(&path)?["annotations"].take());
    bundles.filter_map(annotations).find_map(|annotations| {
        let names = ["io.kubernetes.cri.image-name", "io.kubernetes.cri-o.ImageName"];
        names.iter().find_map(|name| annotations[*name].as_str().map(plain))
    })
}

fn json(path: &Path) -> Option<Value> {
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test panics where it fails")]
    use super::*;

    #[test]
    fn version_and_image_are_read_out_of_the_attributes() {
        let text = "service.version=2.3, container.image.name=shop,container.image.tag=2.3-a,x=";
        assert_eq!(attribute(text, "service.version").as_deref(), Some("2.3"));
        assert_eq!(image(text).as_deref(), Some("shop:2.3-a"));
        assert_eq!((attribute(text, "x"), image("service.version=1")), (None, None));
    }

    #[test]
    fn an_image_is_read_out_of_the_runtimes_files_and_no_path_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let id = "0123456789abcdef";
        let of = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!(image_of(dir.path(), id), None);
        let bundle = format!("run/containerd/io.containerd.runtime.v2.task/k8s.io/{id}/config.json");
        of(&bundle, r#"{"annotations": {"io.kubernetes.cri.image-name": "registry/shop:7"}}"#);
        assert_eq!(image_of(dir.path(), id).as_deref(), Some("registry/shop:7"));
        of(&format!("var/lib/docker/containers/{id}/config.v2.json"), r#"{"Config": {"Image": "shop:8"}}"#);
        assert_eq!(image_of(dir.path(), id).as_deref(), Some("shop:8"));
        assert_eq!(image_of(dir.path(), "../../etc"), None);
    }
}
