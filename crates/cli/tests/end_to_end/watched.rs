//! Tests how an attached drive shows its activity.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::Scratch;
use crate::simulate::{assert_conforms, published};

/// A drive that is attached at a socket in a scratch folder. Programs in that folder find no other
/// attached drive.
pub(crate) struct Drive {
    process: Child,
    output: Value,
}

impl Drive {
    pub(crate) fn attach(place: &Scratch) -> Drive {
        let arguments = ["attach", "sim:demo", "--speed", "max", "--nbd", "s", "--listen"];
        let mut command = place.command(&[&arguments[..], &["127.0.0.1:0", "--json"]].concat());
        let command = command.env("XDG_RUNTIME_DIR", place.path());
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Drive { process, output: serde_json::from_str(&line).unwrap() }
    }

    /// Ends the process with a signal.
    pub(crate) fn end(mut self, signal: &str) -> Option<i32> {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        self.process.wait().unwrap().code()
    }

    /// Returns the body of a response of its server.
    fn get(&self, path: &str) -> String {
        let page = self.output["page"].as_str().unwrap();
        get(page.strip_prefix("http://").unwrap().trim_end_matches('/'), path)
    }
}

/// Returns the body of a response of a server.
pub(crate) fn get(host: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(host).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    answer.split_once("\r\n\r\n").unwrap().1.into()
}

/// Returns the attached drives in `flashscope devices --json`.
fn attached(place: &Scratch) -> Vec<Value> {
    let mut command = place.command(&["devices", "--json"]);
    let output = command.env("XDG_RUNTIME_DIR", place.path()).output().unwrap();
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema = published("devices");
    assert_conforms(&value, &schema, &schema, "devices");
    value["attached"].as_array().unwrap().clone()
}

/// Writes 4 KiB at the beginning of the drive behind the socket `s`, over NBD.
pub(crate) fn write(place: &Scratch) {
    let mut stream = UnixStream::connect(place.at("s")).unwrap();
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting).unwrap();
    // Fixed newstyle negotiation without zeroes, then NBD_OPT_EXPORT_NAME for the unnamed export.
    stream.write_all(&3u32.to_be_bytes()).unwrap();
    let option = [&b"IHAVEOPT"[..], &1u32.to_be_bytes(), &0u32.to_be_bytes()].concat();
    stream.write_all(&option).unwrap();
    let mut export = [0; 10];
    stream.read_exact(&mut export).unwrap();
    let (magic, write, cookie) = (0x2560_9513u32.to_be_bytes(), 1u32.to_be_bytes(), [7; 8]);
    let (offset, len) = (0u64.to_be_bytes(), 4096u32.to_be_bytes());
    let data = [1; 4096];
    let request = [&magic[..], &write, &cookie, &offset, &len, &data].concat();
    stream.write_all(&request).unwrap();
    let mut reply = [0; 16];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(reply[4..8], [0; 4], "no error");
}

#[test]
fn devices_browser_and_prometheus_show_a_write() {
    let place = Scratch::in_memory();
    assert_eq!(attached(&place), [] as [Value; 0]);
    let drive = Drive::attach(&place);
    write(&place);

    let listed = attached(&place);
    let live: Value = serde_json::from_str(&drive.get("/api/attached?after=0")).unwrap();
    let schema = published("live");
    assert_conforms(&live, &schema, &schema, "live");
    for seen in [&listed[0], &live] {
        assert_eq!(seen["process"], drive.process.id());
        assert_eq!(seen["places"][0], drive.output["place"]);
        assert_eq!(seen["ops"][1]["bytes"], 4096);
        assert_eq!(seen["flash"]["programmed_bytes"], 4096);
        assert_eq!(seen["health"]["host_bytes_written"], 512_000, "a data unit");
        assert_eq!(seen["health"]["ocp"]["media_bytes_written"], 4096);
        assert_eq!(seen["write_amplification"], 1.0);
    }
    let metrics = drive.get("/metrics");
    assert!(metrics.contains("\nflashscope_requests_total{op=\"write\"} 1\n"), "{metrics}");
    assert!(drive.get("/").contains("{\"attached\":true}"));

    let mut command = place.command(&["devices"]);
    let output = command.env("XDG_RUNTIME_DIR", place.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("attached: sim:demo, 1.01 GiB"), "{text}");
    assert!(text.contains("0 % of its rated life used, 100 % of its spare blocks left"), "{text}");

    assert_eq!(drive.end("-INT"), Some(0));
    assert_eq!(attached(&place), [] as [Value; 0]);
}

#[test]
fn killed_drive_is_no_longer_listed() {
    let place = Scratch::in_memory();
    let drive = Drive::attach(&place);
    assert_eq!(attached(&place).len(), 1);
    assert_eq!(drive.end("-KILL"), None);
    assert_eq!(attached(&place), [] as [Value; 0]);
    assert_eq!(std::fs::read_dir(place.at("flashscope")).unwrap().count(), 0);
}

#[test]
fn used_address_is_refused_before_the_drive_is_attached() {
    let place = Scratch::in_memory();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let outcome = place.run(&["attach", "sim:demo", "--nbd", "s", "--listen", &address]);
    let message = outcome.message(2, &place);
    assert!(message.contains("choose another address with --listen"), "{message}");
    assert_eq!(outcome.stdout, "");
}
