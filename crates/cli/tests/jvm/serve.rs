//! `fathom serve`, from the outside: who is answered, and with what.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

struct Server {
    child: Child,
    address: String,
    key: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(extra: &[&str]) -> Server {
    serve_by(&mut Command::new(env!("CARGO_BIN_EXE_fathom")), extra)
}

fn serve_by(fathom: &mut Command, extra: &[&str]) -> Server {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../ingest/fixtures/elasql");
    let mut child = fathom
        .current_dir(dir)
        .args(["serve", ".", "--port", "0"])
        .args(extra)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let open =
        lines.map_while(Result::ok).find_map(|line| Some(line.split_once("open http://")?.1.to_owned()));
    let open = open.expect("the address is printed");
    let (address, key) = open.split_once('/').unwrap();
    Server { child, address: address.into(), key: key.trim_end_matches('/').into() }
}

/// Status and body.
fn ask(server: &Server, method: &str, path: &str, headers: &str) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    write!(stream, "{method} {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let head = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    let status = String::from_utf8_lossy(&answer[9..12]).parse().unwrap();
    (status, answer[head + 4..].to_vec())
}

#[test]
fn who_knows_the_address_gets_the_page_and_its_data_and_nobody_else_does() {
    let server = serve(&[]);
    let host = format!("Host: {}", server.address);
    let own = |path: &str| ask(&server, "GET", &format!("/{}/{path}", server.key), &host);
    let (status, page) = own("");
    assert_eq!(status, 200);
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains("connect-src 'self'") && page.contains("fathom-served"));
    assert_eq!(own("state").1, b"{\"version\":1,\"live\":false}");
    let (_, diagnosis) = own("diagnosis");
    let diagnosis: serde_json::Value = serde_json::from_slice(&diagnosis).unwrap();
    assert_eq!(diagnosis["schema"], "fathom.diagnosis/8");
    for part in ["lanes", "samples", "samples/0..1000000000"] {
        let (status, body) = own(part);
        assert!(status == 200 && !body.is_empty(), "{part}");
    }
    for (what, answer) in [
        ("no key", ask(&server, "GET", "/", &host)),
        ("a wrong key", ask(&server, "GET", "/0123456789abcdef0123456789abcdef/", &host)),
        ("an unknown path", own("../../etc/passwd")),
        ("damaged windows", own("samples/9..1")),
    ] {
        assert_eq!(answer.0, 404, "{what}");
    }
    let keyed = format!("/{}/", server.key);
    assert_eq!(
        ask(&server, "GET", &keyed, "Host: evil.example").0,
        421,
        "a name that was made to resolve here"
    );
    let foreign = format!("{host}\r\nOrigin: http://evil.example");
    assert_eq!(ask(&server, "GET", &keyed, &foreign).0, 403, "another site");
    assert_eq!(ask(&server, "POST", &keyed, &host).0, 405);
}

#[test]
fn without_a_key_it_listens_on_this_machine_alone() {
    let refused = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["serve", "x", "--no-token", "--bind", "0.0.0.0"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--no-token"), "{refused:?}");
}

/// Whoever can connect, without the key, neither ends the server nor keeps a reader out.
#[test]
fn a_thousand_idle_connections_neither_end_the_server_nor_keep_a_reader_out() {
    // The server has fewer descriptors than there are connections.
    let limit = "ulimit -n 256; exec \"$@\"";
    let server = serve_by(Command::new("sh").args(["-c", limit, "sh", env!("CARGO_BIN_EXE_fathom")]), &[]);
    let connect = |_| TcpStream::connect(&server.address).unwrap();
    let idle: Vec<TcpStream> = (0..600).map(connect).collect();
    let asked = std::time::Instant::now();
    let host = format!("Host: {}", server.address);
    for _ in 0..3 {
        assert_eq!(ask(&server, "GET", &format!("/{}/state", server.key), &host).0, 200);
    }
    // Well below the time after which an idle connection is closed.
    assert!(asked.elapsed().as_secs() < 15, "{:?}", asked.elapsed());
    drop(idle);
}
