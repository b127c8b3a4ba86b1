//! A bucket as a place (`s3://BUCKET/PREFIX`), of Amazon or of whoever speaks its protocol.
//!
//! `object_store` speaks it; endpoint, region and credentials are those of the environment
//! (`AWS_…`), as for other programs. A bucket keeps what a directory does: an object is there
//! whole or not at all, is never changed, and putting it again changes nothing. What cannot be
//! kept: parts of a large object whose writer was killed stay, unseen, until the bucket's own rule
//! removes them.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path as Key;
use object_store::{
    BackoffConfig, ClientConfigKey, ClientOptions, Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt,
    PutMode, PutPayload, RetryConfig,
};
use tokio::runtime::{Builder, Runtime};

use crate::FleetError;

mod mirror;
mod why;

pub use mirror::Mirror;

/// How an address of a bucket begins.
const SCHEME: &str = "s3://";
/// Larger files go in parts of so many bytes, and come in such; it is what is held of each. It is
/// the least that a part may have; of the 10,000 that there may be, 50 GB are made.
const PART: u64 = 5 << 20;
/// Requests at a time.
const AT_ONCE: usize = 8;
/// Objects that are listed; more are no fleet's days that one machine could look through.
const MOST_LISTED: usize = 5_000_000;
/// A part takes no longer.
const LONGEST: Duration = Duration::from_secs(60);
/// How long a connection is made.
const CONNECTING: Duration = Duration::from_secs(5);
/// Servers close what is idle for longer; between two intervals nothing looks whether one did.
const IDLE: Duration = Duration::from_secs(10);
/// Attempts at a request beyond the first, within [`RETRYING`]; whoever calls tries again later.
const RETRIES: usize = 2;
/// See [`RETRIES`].
const RETRYING: Duration = Duration::from_secs(20);

/// See the module.
#[derive(Debug)]
pub struct Bucket {
    store: AmazonS3,
    runtime: Runtime,
    /// As the user wrote it.
    url: String,
    prefix: String,
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Listed {
    /// Its name below the place.
    name: String,
    bytes: u64,
}

impl Bucket {
    /// The bucket at `s3://BUCKET/PREFIX`. Nothing is asked of it yet.
    pub fn open(url: &str) -> Result<Self, FleetError> {
        let wrong = |why: &str| FleetError::Bucket { url: url.to_owned(), why: why.to_owned() };
        let (bucket, prefix) = parts(url).map_err(|why| FleetError::Unfit(format!("{url}: {why}")))?;
        let built = AmazonS3Builder::from_env().with_bucket_name(bucket);
        let set = |key: AmazonS3ConfigKey| built.get_config_value(&key);
        let endpoint = set(AmazonS3ConfigKey::S3Endpoint).or_else(|| set(AmazonS3ConfigKey::Endpoint));
        let plain = set(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp));
        let plain = plain.is_some_and(|value| value == "true" || value == "1");
        let region = set(AmazonS3ConfigKey::Region).or_else(|| set(AmazonS3ConfigKey::DefaultRegion));
        // What is no address ends the library in a panic.
        if endpoint.as_deref().is_some_and(|endpoint| !is_address(endpoint)) {
            return Err(wrong("AWS_ENDPOINT_URL is not an address: write https://HOST or https://HOST:PORT"));
        }
        if region.is_some_and(|region| !is_region(&region)) {
            return Err(wrong("AWS_REGION is not a region: write eu-central-1"));
        }
        if endpoint.is_some_and(|endpoint| endpoint.starts_with("http:")) && !plain {
            return Err(wrong("the endpoint is without TLS; AWS_ALLOW_HTTP=true allows that"));
        }
        // Another one may be installed already, which does as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let options = ClientOptions::new()
            .with_allow_http(plain)
            .with_timeout(LONGEST)
            .with_connect_timeout(CONNECTING)
            .with_pool_idle_timeout(IDLE);
        let retry =
            RetryConfig { backoff: BackoffConfig::default(), max_retries: RETRIES, retry_timeout: RETRYING };
        let built = built.with_client_options(options).with_retry(retry).build();
        let store = built.map_err(|error| wrong(&why::why(&error)))?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| wrong(&error.to_string()))?;
        Ok(Self { store, runtime, url: url.trim_end_matches('/').to_owned(), prefix: prefix.to_owned() })
    }

    /// As the user wrote it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Puts copies of files under names relative to the place, several at a time. `Ok`: all are
    /// there, whole. `Err`: some may be; putting them again is right.
    pub fn put(&self, files: &[(PathBuf, PathBuf)]) -> Result<(), FleetError> {
        self.runtime.block_on(async {
            let each = stream::iter(files.iter().map(Ok));
            each.try_for_each_concurrent(AT_ONCE, |(name, from)| self.put_one(name, from)).await
        })
    }

    /// Whether there is an object of this name.
    pub fn has(&self, name: &Path) -> Result<bool, FleetError> {
        self.runtime.block_on(async { Ok(self.length(&self.key(name)?).await?.is_some()) })
    }

    /// The object that the address itself names, into a file.
    pub fn fetch(&self, to: &Path) -> Result<(), FleetError> {
        if self.prefix.is_empty() {
            return Err(FleetError::Unfit(format!("{}: an input is an object: s3://BUCKET/NAME", self.url)));
        }
        self.runtime.block_on(async {
            let key = self.key(Path::new(""))?;
            match self.length(&key).await? {
                Some(bytes) => self.fetch_one(&key, bytes, to).await,
                None => Err(self.wrong("there is no such object")),
            }
        })
    }

    async fn put_one(&self, name: &Path, from: &Path) -> Result<(), FleetError> {
        let key = self.key(name)?;
        let mut file = File::open(from).map_err(FleetError::io(from))?;
        let bytes = file.metadata().map_err(FleetError::io(from))?.len();
        if bytes > PART {
            return match self.length(&key).await? {
                Some(there) if there == bytes => Ok(()),
                _ => self.put_parts(&key, &mut file, from).await,
            };
        }
        let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
        file.read_to_end(&mut content).map_err(FleetError::io(from))?;
        let content = PutPayload::from(content);
        let created = self.store.put_opts(&key, content.clone(), PutMode::Create.into()).await;
        match created {
            Ok(_) => return Ok(()),
            // That one is there, or that another one is being put at this time.
            Err(error @ Error::AlreadyExists { .. }) => match self.length(&key).await? {
                Some(there) if there == bytes => return Ok(()),
                Some(_) => {}
                None => return Err(self.refused(&error)),
            },
            // A server that knows no conditions: the same content once more changes nothing.
            Err(error) if why::is_without_conditions(&error) => {}
            Err(error) => return Err(self.refused(&error)),
        }
        let put = self.store.put_opts(&key, content, PutMode::Overwrite.into()).await;
        put.map(drop).map_err(|error| self.refused(&error))
    }

    /// A large file, of which one part is held at a time.
    async fn put_parts(&self, key: &Key, file: &mut File, from: &Path) -> Result<(), FleetError> {
        let upload = self.store.put_multipart(key).await;
        let mut upload = upload.map_err(|error| self.refused(&error))?;
        let mut all = async || -> Result<(), FleetError> {
            loop {
                let mut part = Vec::new();
                Read::by_ref(file).take(PART).read_to_end(&mut part).map_err(FleetError::io(from))?;
                if part.is_empty() {
                    break;
                }
                upload.put_part(part.into()).await.map_err(|error| self.refused(&error))?;
            }
            upload.complete().await.map(drop).map_err(|error| self.refused(&error))
        };
        let put = all().await;
        if put.is_err() {
            // Where that fails too, they stay as those of a killed writer do.
            let _ = upload.abort().await;
        }
        put
    }

    /// Its bytes; `None`: there is none. By its first byte, as the answer to HEAD has no words for
    /// what was wrong.
    async fn length(&self, key: &Key) -> Result<Option<u64>, FleetError> {
        let first = GetOptions { range: Some(GetRange::Bounded(0..1)), ..GetOptions::default() };
        match self.store.get_opts(key, first).await {
            Ok(there) => Ok(Some(there.meta.size)),
            Err(error @ Error::NotFound { .. }) if !why::is_no_bucket(&error) => Ok(None),
            Err(error) => Err(self.refused(&error)),
        }
    }

    async fn fetch_one(&self, key: &Key, bytes: u64, to: &Path) -> Result<(), FleetError> {
        let mut file = File::create(to).map_err(FleetError::io(to))?;
        let (mut from, mut tag) = (0, None);
        while from < bytes {
            let part = from..bytes.min(from + PART);
            let options =
                GetOptions { range: Some(GetRange::Bounded(part.clone())), ..GetOptions::default() };
            // All parts are of one object, whoever replaces it meanwhile.
            let options = GetOptions { if_match: tag.take(), ..options };
            let got = self.store.get_opts(key, options).await.map_err(|error| self.refused(&error))?;
            tag = got.meta.e_tag.clone();
            let content = got.bytes().await.map_err(|error| self.refused(&error))?;
            if content.len() as u64 != part.end - part.start {
                return Err(self.wrong("it gave less of an object than it has"));
            }
            file.write_all(&content).map_err(FleetError::io(to))?;
            from = part.end;
        }
        Ok(())
    }

    /// All objects whose names begin with a directory.
    async fn list(&self, dir: &str) -> Result<Vec<Listed>, FleetError> {
        let prefix = self.key(Path::new(dir))?;
        let mut listing = self.store.list(Some(&prefix));
        let mut all = Vec::new();
        while let Some(object) = listing.next().await {
            let object = object.map_err(|error| self.refused(&error))?;
            if all.len() >= MOST_LISTED {
                return Err(self.wrong("it has too many objects; ask for fewer days: --set since=2026-11-24"));
            }
            if let Some(name) = self.name(&object.location) {
                all.push(Listed { name: name.to_owned(), bytes: object.size });
            }
        }
        Ok(all)
    }

    /// Names of the directories at the top.
    async fn tops(&self) -> Result<Vec<String>, FleetError> {
        let prefix = self.key(Path::new(""))?;
        let listed = self.store.list_with_delimiter(Some(&prefix)).await;
        let listed = listed.map_err(|error| self.refused(&error))?;
        Ok(listed.common_prefixes.iter().filter_map(|dir| Some(self.name(dir)?.to_owned())).collect())
    }

    fn key(&self, name: &Path) -> Result<Key, FleetError> {
        let name = name.to_str().ok_or_else(|| self.wrong("a name of an object is UTF-8"))?;
        let both: Vec<&str> = [&self.prefix[..], name].into_iter().filter(|part| !part.is_empty()).collect();
        Key::parse(both.join("/")).map_err(|error| self.wrong(&error.to_string()))
    }

    /// The name below the place.
    fn name<'a>(&self, key: &'a Key) -> Option<&'a str> {
        let below = key.as_ref().strip_prefix(&self.prefix)?;
        if self.prefix.is_empty() { Some(below) } else { below.strip_prefix('/') }
    }

    fn wrong(&self, why: &str) -> FleetError {
        FleetError::Bucket { url: self.url.clone(), why: why.to_owned() }
    }

    fn refused(&self, error: &Error) -> FleetError {
        self.wrong(&why::why(error))
    }
}

fn is_address(endpoint: &str) -> bool {
    let begins = ["https://", "http://"].iter().any(|scheme| endpoint.starts_with(scheme));
    begins && reqwest::Url::parse(endpoint).is_ok_and(|url| url.has_host())
}

/// It becomes part of a host's name.
fn is_region(region: &str) -> bool {
    !region.is_empty() && region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Bucket and prefix of an address.
fn parts(url: &str) -> Result<(&str, &str), &'static str> {
    let rest = url.strip_prefix(SCHEME).ok_or("an address of a bucket is s3://BUCKET/PREFIX")?;
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if bucket.len() < 3 || bucket.len() > 63 || !bucket.bytes().all(fits) {
        return Err("a bucket has a name of 3 to 63 letters, digits, dots and hyphens: s3://BUCKET/PREFIX");
    }
    let prefix = prefix.trim_end_matches('/');
    match Key::parse(prefix) {
        Ok(key) if key.as_ref() == prefix => Ok((bucket, prefix)),
        _ => Err("what follows the bucket is not a valid object name: s3://BUCKET/PREFIX"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test panics where it fails")]
    use super::*;

    #[test]
    fn an_endpoint_is_an_address_and_a_region_a_word() {
        assert!(is_address("https://minio.internal:9000") && is_address("http://127.0.0.1:1/x"));
        for wrong in ["", "minio:9000", "https://", "https://a b", "ftp://x", "http://[::1"] {
            assert!(!is_address(wrong), "{wrong}");
        }
        assert!(is_region("eu-central-1") && !is_region("") && !is_region("eu central"));
    }

    #[test]
    fn an_address_has_a_bucket_and_perhaps_a_prefix() {
        assert_eq!(parts("s3://fleet"), Ok(("fleet", "")));
        assert_eq!(parts("s3://fleet/"), Ok(("fleet", "")));
        assert_eq!(parts("s3://fleet/a b/c/"), Ok(("fleet", "a b/c")));
        for wrong in
            ["fleet", "s3:/fleet", "s3://", "s3:///x", "s3://a b/x", "s3://fleet//x", "s3://fleet/../x"]
        {
            assert!(parts(wrong).is_err(), "{wrong}");
        }
    }
}
