//! Who may ask: whoever knows the key, under this server's own name, and not on behalf of another
//! site.
//!
//! A page of another site can make a browser send requests here. Its `Origin` is its own, so it is
//! refused; it may have its name resolve to this machine (DNS rebinding), then `Host` is that name,
//! and it is refused; and it does not know the key.

use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;

use anyhow::{Context, Result};
use axum::http::{HeaderMap, StatusCode, header};

/// What a request must have.
pub struct Guard {
    address: SocketAddr,
    hosts: Vec<String>,
    key: Option<String>,
}

impl Guard {
    /// For a server that listens on `address`.
    pub fn new(address: SocketAddr, with_key: bool) -> Result<Self> {
        let mut names = vec![SocketAddr::new(address.ip(), address.port()).to_string()];
        if address.ip().is_loopback() {
            names.push(format!("localhost:{}", address.port()));
        }
        let key = with_key.then(key).transpose().context("no random key from /dev/urandom")?;
        Ok(Self { address, hosts: names, key })
    }

    /// The address to open.
    pub fn address(&self) -> String {
        match &self.key {
            Some(key) => format!("http://{}/{key}/", self.address),
            None => format!("http://{}/", self.address),
        }
    }

    /// The path behind the key, or why the request is refused.
    pub fn admit<'a>(&self, headers: &HeaderMap, path: &'a str) -> Result<&'a str, StatusCode> {
        let text = |name: header::HeaderName| headers.get(name).map(|v| v.to_str().unwrap_or("?"));
        let ours = |host: &str| {
            // One that listens on every address is called by names that it does not know; the key
            // is what protects it.
            self.address.ip().is_unspecified()
                || self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
        };
        let host = text(header::HOST).ok_or(StatusCode::BAD_REQUEST)?;
        if !ours(host) {
            return Err(StatusCode::MISDIRECTED_REQUEST);
        }
        if let Some(origin) = text(header::ORIGIN)
            && origin.strip_prefix("http://") != Some(host)
        {
            return Err(StatusCode::FORBIDDEN);
        }
        // Sent by browsers since 2020: a request that another site caused says so.
        if let Some(site) = headers.get("sec-fetch-site")
            && !matches!(site.as_bytes(), b"same-origin" | b"none")
        {
            return Err(StatusCode::FORBIDDEN);
        }
        let path = path.strip_prefix('/').ok_or(StatusCode::BAD_REQUEST)?;
        let Some(key) = &self.key else { return Ok(path) };
        let (given, rest) = path.split_once('/').ok_or(StatusCode::NOT_FOUND)?;
        if same(given.as_bytes(), key.as_bytes()) { Ok(rest) } else { Err(StatusCode::NOT_FOUND) }
    }
}

/// 128 random bits, hexadecimal.
fn key() -> std::io::Result<String> {
    let mut bytes = [0_u8; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

/// Compares in the same time wherever the first difference is.
pub fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differs, (x, y)| differs | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(
        guard: &Guard,
        path: &str,
        headers: &[(&'static str, &'static str)],
    ) -> Result<String, StatusCode> {
        let headers: HeaderMap = (headers.iter())
            .map(|(name, value)| {
                (header::HeaderName::from_static(name), header::HeaderValue::from_static(value))
            })
            .collect();
        guard.admit(&headers, path).map(str::to_owned)
    }

    fn guard() -> Guard {
        let mut guard = Guard::new("127.0.0.1:8421".parse().unwrap(), true).unwrap();
        guard.key = Some("c0ffee".into());
        guard
    }

    #[test]
    fn who_knows_the_key_is_let_in_under_the_servers_names() {
        for host in ["127.0.0.1:8421", "localhost:8421", "LOCALHOST:8421"] {
            assert_eq!(asked(&guard(), "/c0ffee/lanes", &[("host", host)]), Ok("lanes".into()));
        }
        let own = [
            ("host", "localhost:8421"),
            ("origin", "http://localhost:8421"),
            ("sec-fetch-site", "same-origin"),
        ];
        assert_eq!(asked(&guard(), "/c0ffee/", &own), Ok(String::new()));
    }

    #[test]
    fn other_names_other_sites_and_wrong_keys_are_refused() {
        let refused = |path: &str, headers: &[(&'static str, &'static str)]| {
            asked(&guard(), path, headers).unwrap_err()
        };
        assert_eq!(refused("/c0ffee/", &[]), StatusCode::BAD_REQUEST);
        assert_eq!(refused("/c0ffee/", &[("host", "evil.example:8421")]), StatusCode::MISDIRECTED_REQUEST);
        let host = ("host", "127.0.0.1:8421");
        assert_eq!(refused("/c0ffee/", &[host, ("origin", "http://evil.example")]), StatusCode::FORBIDDEN);
        assert_eq!(refused("/c0ffee/", &[host, ("origin", "null")]), StatusCode::FORBIDDEN);
        assert_eq!(refused("/c0ffee/", &[host, ("sec-fetch-site", "cross-site")]), StatusCode::FORBIDDEN);
        for path in ["/", "/c0ffee", "/c0ffe0/", "/c0ffee0/lanes", "/C0FFEE/", "//c0ffee/"] {
            assert_eq!(refused(path, &[host]), StatusCode::NOT_FOUND, "{path}");
        }
    }

    #[test]
    fn keys_are_long_and_differ() {
        let keys: Vec<String> = (0..2).map(|_| key().unwrap()).collect();
        assert!(keys[0].len() == 32 && keys[0] != keys[1]);
    }
}
