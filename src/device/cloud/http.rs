//! One plain HTTP request to a metadata service, on a connection of its own.
//!
//! The service is named by its address, so that no resolver decides who is asked. There is no proxy, no redirect and no connection that
//! stays. An answer is foreign bytes: it is read up to a length and an end of time, and nothing of it is trusted here.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The longest head of an answer.
const HEAD: usize = 16 << 10;
/// The longest body; its chunks and their lengths together may take twice as much.
const BODY: usize = 64 << 10;
/// Between head and body.
const BLANK_LINE: &[u8] = b"\r\n\r\n";

/// What a service answered.
#[derive(Debug, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The status.
    pub status: u16,
    /// The text of a success; empty with any other status.
    pub text: String,
}

/// Sends a request without a body to `http://ADDRESS[:PORT]/PATH`, and waits for the answer until `end`.
///
/// # Errors
/// No connection, no whole answer in time, or one that is no HTTP; in words.
pub fn ask(
    method: &str,
    url: &str,
    headers: &[(String, String)],
    end: Instant,
) -> Result<HttpAnswer, String> {
    let place = url.strip_prefix("http://").and_then(|rest| rest.split_once('/'));
    let (host, path) = place.ok_or_else(|| format!("'{url}' is no http://ADDRESS/PATH"))?;
    let lone = || host.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 80));
    let address = host.parse().or_else(|_| lone()).map_err(|_| format!("'{host}' is no address"))?;
    let mut stream = TcpStream::connect_timeout(&address, left(end)?).map_err(|e| e.to_string())?;
    let mut request = format!("{method} /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    request += if method == "PUT" { "Content-Length: 0\r\n" } else { "" };
    request.extend(headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")));
    request += "\r\n";
    stream.set_write_timeout(Some(left(end)?)).map_err(|e| e.to_string())?;
    stream.write_all(request.as_bytes()).map_err(|e| e.to_string())?;
    answered(&mut stream, end)
}

/// Time until the end.
fn left(end: Instant) -> Result<Duration, String> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() { Err("it took too long".into()) } else { Ok(left) }
}

/// Reads until the answer is whole.
fn answered(stream: &mut TcpStream, end: Instant) -> Result<HttpAnswer, String> {
    let mut all = Vec::new();
    let mut part = [0; 4096];
    loop {
        stream.set_read_timeout(Some(left(end)?)).map_err(|e| e.to_string())?;
        match stream.read(&mut part) {
            Ok(0) => return parsed(&all, true)?.ok_or_else(|| "its answer breaks off".into()),
            Ok(n) => all.extend_from_slice(&part[..n]),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(e) => return Err(e.to_string()),
        }
        if let Some(answer) = parsed(&all, false)? {
            return Ok(answer);
        }
        if all.len() > HEAD + 2 * BODY {
            return Err("its answer is too long".into());
        }
    }
}

/// The answer in the bytes so far; none where more must come. `ended`: no more will.
fn parsed(bytes: &[u8], ended: bool) -> Result<Option<HttpAnswer>, String> {
    let at = bytes.windows(BLANK_LINE.len()).position(|four| four == BLANK_LINE);
    let Some(at) = at.filter(|at| *at <= HEAD) else {
        let too_long = bytes.len() > HEAD + BLANK_LINE.len();
        return if too_long { Err("the head of its answer is too long".into()) } else { Ok(None) };
    };
    let head = String::from_utf8_lossy(&bytes[..at]);
    let rest = &bytes[at + BLANK_LINE.len()..];
    let mut lines = head.split("\r\n");
    let first = lines.next().and_then(|line| line.strip_prefix("HTTP/1."));
    let status = first.and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let status = status.ok_or("its answer is no HTTP")?;
    if status != 200 {
        return Ok(Some(HttpAnswer { status, text: String::new() }));
    }
    let headers: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(':')).collect();
    let header = |name: &str| {
        headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    };
    let body = match (header("Transfer-Encoding"), header("Content-Length")) {
        (Some(coding), _) if coding.eq_ignore_ascii_case("chunked") => of_chunks(rest)?,
        (Some(_), _) => return Err("its answer is in a coding that was not asked for".into()),
        (None, Some(length)) => {
            let length = length.parse().ok().filter(|n| *n <= BODY).ok_or("its answer is too long")?;
            rest.get(..length).map(<[u8]>::to_vec)
        }
        (None, None) if rest.len() > BODY => return Err("its answer is too long".into()),
        (None, None) => ended.then(|| rest.to_vec()),
    };
    let Some(body) = body else { return Ok(None) };
    let text = String::from_utf8(body).map_err(|_| "its answer is no text")?;
    Ok(Some(HttpAnswer { status, text }))
}

/// The body in chunks, each behind its length; none where more must come.
fn of_chunks(mut rest: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let mut body = Vec::new();
    loop {
        let Some(at) = rest.windows(2).position(|two| two == b"\r\n") else { return Ok(None) };
        let line = std::str::from_utf8(&rest[..at]).unwrap_or_default();
        let digits = line.split(';').next().unwrap_or_default().trim();
        let length = usize::from_str_radix(digits, 16).ok().filter(|n| body.len().saturating_add(*n) <= BODY);
        let length = length.ok_or("a chunk of its answer has no length, or is too long")?;
        if length == 0 {
            return Ok(Some(body));
        }
        rest = &rest[at + 2..];
        if rest.len() < length + 2 {
            return Ok(None);
        }
        body.extend_from_slice(&rest[..length]);
        rest = &rest[length + 2..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(bytes: &str, ended: bool) -> Option<String> {
        parsed(bytes.as_bytes(), ended).unwrap().map(|answer| answer.text)
    }

    #[test]
    fn a_body_ends_by_its_length_its_chunks_or_the_connection() {
        let with_length = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello and more";
        assert_eq!(text(with_length, false).unwrap(), "hello");
        assert_eq!(text(&with_length[..with_length.len() - 12], true), None, "it breaks off");
        let chunks =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n";
        assert_eq!(text(chunks, false).unwrap(), "hello");
        assert_eq!(text(&chunks[..chunks.len() - 10], true), None);
        let open = "HTTP/1.0 200 OK\r\n\r\nhello";
        assert_eq!((text(open, false), text(open, true)), (None, Some("hello".into())));
        assert_eq!(text("HTTP/1.1 200 OK\r\n", true), None);
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for (bytes, why) in [
            ("SSH-2.0-OpenSSH\r\n\r\n", "no HTTP"),
            ("HTTP/1.1 OK\r\n\r\n", "no HTTP"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 65537\r\n\r\n", "too long"),
            ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "too long"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "coding"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", "chunk"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "chunk"),
        ] {
            let told = parsed(bytes.as_bytes(), true).unwrap_err();
            assert!(told.contains(why), "{bytes:?}: {told}");
        }
        assert!(parsed(&vec![b'x'; HEAD + 5], false).unwrap_err().contains("too long"));
        assert!(parsed(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\xff", true).is_err());
    }

    #[test]
    fn only_an_address_is_asked() {
        let end = Instant::now() + Duration::from_secs(1);
        for (url, why) in [
            ("http://metadata.example/x", "no address"),
            ("https://127.0.0.1/x", "no http://ADDRESS/PATH"),
            ("http://127.0.0.1", "no http://ADDRESS/PATH"),
        ] {
            assert!(ask("GET", url, &[], end).unwrap_err().contains(why), "{url}");
        }
    }

    proptest! {
        #[test]
        fn any_answer_is_read_or_refused(
            head in "(HTTP/1\\.[01] [0-9]{1,4}( [a-z]{0,4})?)?(\r\n(content-length|transfer-encoding|x): [a-z0-9]{0,8}){0,3}",
            body in proptest::collection::vec(any::<u8>(), 0..64),
            ended in any::<bool>(),
        ) {
            let mut bytes = head.into_bytes();
            bytes.extend_from_slice(BLANK_LINE);
            bytes.extend_from_slice(&body);
            let _ = parsed(&bytes, ended);
            let _ = of_chunks(&body);
        }
    }
}
