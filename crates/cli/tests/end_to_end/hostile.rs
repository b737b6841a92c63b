//! Tests that untrusted text in a file, a name or a response cannot control the terminal.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Outcome, Scratch};

/// A text that clears the screen, sets the title, starts an escape sequence, reorders and hides
/// text, and breaks the line.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}\
                       \u{7f}\u{200b}\u{feff}\u{e0041}\r\t";

#[track_caller]
fn steers_nothing(what: &str, outcome: &Outcome) {
    for (stream, text) in [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)] {
        let unsafe_one = text.chars().find(|c| {
            c.is_control() && *c != '\n'
                || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
                || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
        });
        assert_eq!(unsafe_one, None, "{what}: {stream}: {text:?}");
    }
}

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => {
                fs::copy(entry.path(), to).unwrap();
            }
        }
    }
}

/// Adds the paths of all texts in a document, without indices, to `found`, each with the JSON
/// pointers of its texts.
fn texts(value: &Value, pointer: &str, path: &str, found: &mut Vec<(String, Vec<String>)>) {
    match value {
        Value::String(_) => match found.iter_mut().find(|(known, _)| known == path) {
            Some((_, pointers)) => pointers.push(pointer.into()),
            None => found.push((path.into(), vec![pointer.into()])),
        },
        Value::Object(fields) => {
            for (name, field) in fields {
                texts(field, &format!("{pointer}/{name}"), &format!("{path}.{name}"), found);
            }
        }
        Value::Array(items) => {
            for (nth, item) in items.iter().enumerate() {
                texts(item, &format!("{pointer}/{nth}"), &format!("{path}[]"), found);
            }
        }
        _ => {}
    }
}

// The output of --json must stay valid JSON.
#[test]
fn texts_of_results_cannot_control_the_terminal() {
    let place = Scratch::in_memory();
    let mut printed = 0;
    for (result, file) in [
        ("v1", "manifest.json"),
        ("simulated", "simulation.json"),
        ("probed", "probe.json"),
        ("swept", "sweep.json"),
        ("what-if", "what-if.json"),
    ] {
        let folder = place.at(result);
        copy(&sample("results").join(format!("{result}.flashscope")), &folder);
        let whole: Value = serde_json::from_slice(&fs::read(folder.join(file)).unwrap()).unwrap();
        let mut found = Vec::new();
        texts(&whole, "", "", &mut found);
        for (path, pointers) in found {
            let mut broken = whole.clone();
            for pointer in pointers {
                let text = broken.pointer_mut(&pointer).unwrap();
                *text = format!("{}{HOSTILE}", text.as_str().unwrap()).into();
            }
            fs::write(folder.join(file), serde_json::to_vec(&broken).unwrap()).unwrap();
            for form in ["--terminal", "--json"] {
                let outcome = place.run(&["report", result, form]);
                steers_nothing(&format!("{result}{path} {form}"), &outcome);
                printed += usize::from(outcome.stdout.contains("u{9b}31m"));
                if form == "--json" && outcome.status == 0 {
                    serde_json::from_str::<Value>(&outcome.stdout).unwrap();
                }
            }
        }
    }
    assert!(printed > 5, "hostile text was printed {printed} times");
}

#[test]
fn names_cannot_control_the_terminal() {
    let place = Scratch::in_memory();
    let name = format!("a{HOSTILE}\nflashscope: all is well");
    for arguments in [
        &["report", &name][..],
        &["trace", "stat", &name],
        &["simulate", &format!("sim:{name}"), "--workload", "uniform"],
        &["bench", &name],
        &["bench", &format!("sim:demo?{name}=1")],
        &["plan", "sim:demo", "--state", &name],
        &["twin", "fit", &name],
        &["sweep", &name, "--output", "s"],
        &["reproduce", &name],
        &["serve", &name],
        &["attach", &name],
        &["submit", &name, "--to", "http://127.0.0.1:1"],
        &[&name],
    ] {
        let outcome = place.run(arguments);
        assert_ne!(outcome.status, 0, "{arguments:?}");
        steers_nothing(&format!("{arguments:?}"), &outcome);
        assert!(outcome.stderr.contains("\\u{202e}"), "{arguments:?}: {}", outcome.stderr);
        // A name with line breaks forges no message.
        let forged = outcome.stderr.lines().any(|line| line == "flashscope: all is well");
        assert!(!forged, "{arguments:?}: {}", outcome.stderr);
    }
    let mut command = place.command(&["report"]);
    let no_text = std::ffi::OsString::from_vec(b"a\xff\x9b31m".into());
    steers_nothing("no UTF-8", &Outcome::of(command.arg(no_text)));
}

#[test]
fn traces_cannot_control_the_terminal() {
    let place = Scratch::in_memory();
    let name = format!("t{HOSTILE}.csv");
    let line = |disk: &str| format!("128166372003061629,{disk},0,Write,4096,4096,1000\n");
    fs::write(place.at(&name), line("hm") + &line(&format!("b{HOSTILE}"))).unwrap();
    for arguments in [
        &["trace", "stat", &name][..],
        &["trace", "stat", &name, "--json"],
        &["trace", "stat", &name, "--on-bad-line", "skip"],
        &["trace", "convert", &name, "--output", "out.csv", "--on-bad-line", "skip"],
    ] {
        steers_nothing(&format!("{arguments:?}"), &place.run(arguments));
    }
}

/// Starts a registry that answers every request with this status and body. Returns its address.
fn registry(status: &'static str, body: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map(Result::unwrap) {
            let mut reader = BufReader::new(stream);
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).unwrap() > 2 {
                let lower = line.to_ascii_lowercase();
                if let Some(bytes) = lower.strip_prefix("content-length:") {
                    length = bytes.trim().parse().unwrap();
                }
                line.clear();
            }
            std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink()).unwrap();
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
                 Connection: close\r\n\r\n",
                body.len()
            );
            let _ = reader.get_mut().write_all((head + &body).as_bytes());
        }
    });
    format!("http://{address}/")
}

#[test]
fn answers_of_a_registry_cannot_control_the_terminal() {
    let place = Scratch::in_memory();
    copy(&sample("results/simulated.flashscope"), &place.at("s"));
    let published = serde_json::json!({ "id": HOSTILE, "unchecked": [HOSTILE] }).to_string();
    let refused = serde_json::json!({ "error": format!("no\nflashscope: {HOSTILE}") }).to_string();
    for (status, body, ended) in [("200 OK", published, 0), ("422 No", refused, 1)] {
        for form in [&[][..], &["--json"]] {
            let address = registry(status, body.clone());
            let arguments = [&["submit", "s", "--to", &address, "--token", "t"][..], form].concat();
            let outcome = place.run(&arguments);
            steers_nothing(&body, &outcome);
            assert_eq!(outcome.status, ended, "{}", outcome.stderr);
            assert!(outcome.stderr.contains("\\u{9b}31m"), "{}", outcome.stderr);
        }
    }
}

#[test]
fn damaged_parquet_is_one_line_without_a_backtrace() {
    for name in ["no-dictionary", "underflow", "empty-page", "past-the-dictionary"] {
        let place = Scratch::in_memory();
        copy(&sample("results/v1.flashscope"), &place.at("r"));
        let damaged = sample("parquet").join(format!("{name}.parquet"));
        fs::copy(&damaged, place.at("r/records/run-00001-000.parquet")).unwrap();
        fs::copy(&damaged, place.at("t.parquet")).unwrap();
        for (arguments, status, file) in [
            (["report", "r", "--terminal"], 1, "r/records/run-00001-000.parquet"),
            (["trace", "stat", "t.parquet"], 2, "t.parquet"),
        ] {
            let mut command = place.command(&arguments);
            let outcome = Outcome::of(command.env("RUST_BACKTRACE", "1"));
            let message = outcome.message(status, &place);
            assert_eq!(message.lines().count(), 1, "{name}: {message}");
            let place_of = format!("flashscope: {file}: row group 0, column `");
            assert!(message.starts_with(&place_of), "{name}: {message}");
            assert!(
                message.contains("the data is damaged (") && message.contains("; restore "),
                "{message}"
            );
        }
    }
}
