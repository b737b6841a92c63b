//! Tests the server over a real socket.

use std::io::{Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc;
use std::thread;

use flashscope_serve::{Folders, app, serve};

use super::Place;

fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

// The server reports the port that it got, rejects data that are not HTTP, and stops even while a
// connection is open.
#[test]
fn serves_until_stopped() {
    let place = Place::new();
    let folders: Vec<PathBuf> = vec![place.folder.path().into()];
    let (sender, receiver) = mpsc::channel();
    let server = thread::spawn(move || {
        let make = async |access| Ok(app(Folders::new(folders), access));
        serve::<Error>(make, ([127, 0, 0, 1], 0).into(), |address| sender.send(address).unwrap())
    });
    let address = receiver.recv().unwrap();
    assert_ne!(address.port(), 0);
    let head = format!("GET /api/shelf HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let answer = ask(address, &head);
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("\"id\":\"demo\""),
        "{answer}"
    );
    let refused = ask(address, &head.replace(&address.to_string(), "evil.example"));
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    let nonsense = ask(address, "nonsense\r\n\r\n");
    assert!(nonsense.starts_with("HTTP/1.1 400"), "{nonsense}");
    let make = async |access| Ok(app(Folders::new(vec![]), access));
    let taken = serve::<Error>(make, address, |_| panic!("the address is taken"));
    assert_eq!(taken.unwrap_err().kind(), ErrorKind::AddrInUse);

    let idle = TcpStream::connect(address).unwrap();
    let this = std::process::id().to_string();
    assert!(Command::new("kill").args(["-TERM", &this]).status().unwrap().success());
    server.join().unwrap().unwrap();
    assert!(TcpStream::connect(address).is_err());
    drop(idle);
}
