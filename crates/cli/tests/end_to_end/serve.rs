//! Tests `flashscope serve`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use insta::assert_snapshot;
use serde_json::Value;

use super::Scratch;

/// Starts the server with `more` options, and returns it with the JSON that it announces.
pub(crate) fn start(place: &Scratch, more: &[&str]) -> (Child, Value) {
    let arguments = [&["serve", "--listen", "127.0.0.1:0", "--json"], more].concat();
    let mut command = place.command(&arguments);
    let mut server = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (server, serde_json::from_str(&line).unwrap())
}

/// Returns the complete response of the server at `address`.
pub(crate) fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn server_prints_its_address_and_answers() {
    let place = Scratch::in_memory();
    let (server, status) = start(&place, &[]);
    let address = status["address"].as_str().unwrap();
    assert_eq!(status["url"], format!("http://{address}/"));
    let answer = get(address, "/api/shelf");
    assert!(answer.ends_with("{\"total\":0,\"items\":[]}"), "{answer}");
    assert!(
        Command::new("kill").args(["-INT", &server.id().to_string()]).status().unwrap().success()
    );
    let output = server.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
        (Some(0), "")
    );
}

/// Starts the server with `arguments`, stops it, and returns the address that it announced and its
/// standard error.
fn announced(place: &Scratch, arguments: &[&str]) -> (String, String) {
    let mut command = place.command(&[&["serve", "--json"], arguments].concat());
    let mut server = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    server.kill().unwrap();
    let stderr = String::from_utf8(server.wait_with_output().unwrap().stderr).unwrap();
    let status: Value = serde_json::from_str(&line).unwrap_or_default();
    (status["address"].as_str().unwrap_or_default().to_owned(), stderr)
}

#[test]
fn network_address_gets_a_warning() {
    let place = Scratch::in_memory();
    let (address, stderr) = announced(&place, &["--listen", "0.0.0.0:0"]);
    assert!(address.starts_with("0.0.0.0:"), "{address}");
    assert!(stderr.contains("sees every result, without a password"), "{stderr}");
    let (_, stderr) = announced(&place, &["--listen", "127.0.0.1:0"]);
    assert_eq!(stderr, "");
}

#[test]
fn default_address_is_loopback() {
    let place = Scratch::in_memory();
    let (address, stderr) = announced(&place, &[]);
    // Another server may hold the default port of this machine.
    let is_busy = stderr.contains("cannot listen at 127.0.0.1:7470");
    assert!(address == "127.0.0.1:7470" || is_busy, "{address} {stderr}");
}

#[test]
fn invalid_serve_requests_are_refused_with_advice() {
    let place = Scratch::in_memory();
    let message = |arguments: &[&str]| place.run(arguments).message(2, &place);
    std::fs::write(place.at("trace.csv"), "1").unwrap();
    assert_snapshot!(message(&["serve", "trace.csv"]), @"flashscope: cannot list trace.csv: Not a directory (os error 20); name result folders, a folder with results, or the .twin.json of a twin");
    assert_snapshot!(message(&["serve", "nowhere"]), @"flashscope: cannot list nowhere: No such file or directory (os error 2)");
    assert_snapshot!(message(&["serve", "--database", "postgres://x"]), @"flashscope: --database and --store are options of a registry: name it with --registry");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let busy = message(&["serve", "--listen", &address]).replace(&address, "ADDRESS");
    assert_snapshot!(busy, @"flashscope: cannot listen at ADDRESS: Address already in use (os error 98); choose another address with --listen");
    assert!(message(&["serve", "--listen", "here"]).contains("write it like 127.0.0.1:7470"));
}

#[test]
fn tokens_are_unique_listed_and_required() {
    let place = Scratch::in_memory();
    let token = place.run(&["registry", "r", "add", "alice"]).ok().stdout;
    assert!(token.starts_with("flashscope_") && token.trim().len() == 59, "{token}");
    assert_eq!(place.run(&["registry", "r", "list"]).ok().stdout, "alice\n");
    let again = place.run(&["registry", "r", "add", "alice"]).message(2, &place);
    assert_snapshot!(again, @"flashscope: the token `alice` exists: remove it first");
    place.run(&["registry", "r", "remove", "alice"]).ok();
    let none = place.run(&["registry", "r", "remove", "alice"]).message(2, &place);
    assert_snapshot!(none, @"flashscope: there is no token `alice`: `flashscope registry FOLDER list` lists them");
}

#[test]
fn registry_accepts_results_of_all_kinds() {
    let place = Scratch::in_memory();
    place.bench("sim:demo", "m.flashscope", &[]).ok();
    let simulate = ["simulate", "--drive", "sim:demo", "--fill", "none", "--warmup", "none"];
    place.run(&[&simulate[..], &["--ios", "500", "--output", "s.flashscope"]].concat()).ok();
    let only = ["--only", "medium", "--output", "p.flashscope"];
    place.run(&[&["probe", "sim:demo"], &only[..]].concat()).ok();
    let token = place.run(&["registry", "r", "add", "alice"]).ok().stdout;
    let (mut server, status) = start(&place, &["--registry", "r"]);
    let (url, address) = (status["url"].as_str().unwrap(), status["address"].as_str().unwrap());
    let submit = |result: &str| {
        let to = ["--to", url, "--token", token.trim(), "--json"];
        place.run(&[&["submit", result], &to[..]].concat())
    };
    for (result, page, api, unchecked) in [
        ("m.flashscope", "d", "results", None),
        ("s.flashscope", "s", "simulations", Some("simulate again")),
        ("p.flashscope", "p", "probes", Some("what the probe concluded")),
    ] {
        let sent = submit(result).ok();
        let published: Value = serde_json::from_str(&sent.stdout).unwrap();
        let id = published["id"].as_str().unwrap();
        assert_eq!(published["url"], format!("{url}#/{page}/{id}"));
        assert!(get(address, &format!("/api/{api}/{id}")).starts_with("HTTP/1.1 200"), "{result}");
        if let Some(unchecked) = unchecked {
            let words = published["unchecked"][0].as_str().unwrap();
            assert!(words.contains(unchecked) && sent.stderr.contains(words), "{}", sent.stderr);
        }
    }
    let shelf = get(address, "/api/shelf");
    assert!(shelf.contains("\"total\":3"), "{shelf}");

    let file = place.at("s.flashscope").join("simulation.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"ios\":500", "\"ios\":501")).unwrap();
    let refused = submit("s.flashscope").message(2, &place);
    assert!(refused.contains("`ios_per_second` is"), "{refused}");
    server.kill().unwrap();
    server.wait().unwrap();
}
