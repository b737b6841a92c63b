//! `flashscope serve`, as a user starts it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use insta::assert_snapshot;

use super::Scratch;

// Does the program tell its address as JSON, answer there, and end well when it is asked to?
#[test]
fn serves_a_shelf() {
    let place = Scratch::in_memory();
    let mut server = place
        .command(&["serve", "--listen", "127.0.0.1:0", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told: serde_json::Value = serde_json::from_str(&line).unwrap();
    let address = told["address"].as_str().unwrap();
    assert_eq!(told["url"], format!("http://{address}/"));
    let mut stream = TcpStream::connect(address).unwrap();
    let request =
        format!("GET /api/shelf HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
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

// Is what cannot be served refused as usage, with what to do?
#[test]
fn says_what_is_wrong() {
    let place = Scratch::in_memory();
    let says = |arguments: &[&str]| place.run(arguments).says(2, &place);
    assert_snapshot!(says(&["serve", "nowhere"]), @"flashscope: cannot list nowhere: No such file or directory (os error 2)");
    assert_snapshot!(says(&["serve", "--database", "postgres://x"]), @"flashscope: --database and --store are of a registry: name it with --registry");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let busy = says(&["serve", "--listen", &address]).replace(&address, "ADDRESS");
    assert_snapshot!(busy, @"flashscope: cannot answer at ADDRESS: Address already in use (os error 98); choose another address with --listen");
    assert!(says(&["serve", "--listen", "here"]).contains("write it like 127.0.0.1:7470"));
}

// Are tokens made once and listed, and is a submission without one refused before anything is sent?
#[test]
fn tokens_are_kept() {
    let place = Scratch::in_memory();
    let token = place.run(&["registry", "r", "add", "alice"]).ok().stdout;
    assert!(token.starts_with("flashscope_") && token.trim().len() == 59, "{token}");
    assert_eq!(place.run(&["registry", "r", "list"]).ok().stdout, "alice\n");
    let again = place.run(&["registry", "r", "add", "alice"]).says(2, &place);
    assert_snapshot!(again, @"flashscope: there is a token `alice`: remove it first");
    place.run(&["registry", "r", "remove", "alice"]).ok();
    let none = place.run(&["registry", "r", "remove", "alice"]).says(2, &place);
    assert_snapshot!(none, @"flashscope: there is no token `alice`");
}
