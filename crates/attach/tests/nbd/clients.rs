//! Clients that others wrote.

#![allow(clippy::print_stderr, reason = "a test says what it passes by")]

use std::path::Path;
use std::process::{Command, Output};

use flashscope_attach::Speed;

use crate::served::{How, SIZE, Served};

/// Runs a program that must succeed and tells what it printed; none where it is not installed.
fn run(program: &str, arguments: &[&str], folder: &Path) -> Option<String> {
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let Ok(Output { status, stdout, stderr }) = output else {
        eprintln!("passed by: {program} is not installed (see scripts/install-tools)");
        return None;
    };
    let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(status.success(), "{program} {arguments:?}: {stdout}{stderr}");
    Some(stdout + &stderr)
}

// Does QEMU find what it wrote, trimmed and zeroed, at places that are no multiple of anything?
#[test]
fn qemu_io() {
    let served = Served::new(&How::default());
    let commands = [
        "write -P 7 0 1M",
        "write -P 8 4097 513",
        "discard 64k 64k",
        "write -z -u 128k 64k",
        "write -z 192k 100",
        "flush",
        "write -f -P 9 300k 4k",
        "read -P 7 0 4097",
        "read -P 8 4097 513",
        "read -P 0 64k 128k",
        "read -P 0 192k 100",
        "read -P 9 300k 4k",
        "aio_write -P 3 8M 4M",
        "aio_read -P 7 512k 64k",
        "aio_flush",
        "read -P 3 8M 4M",
    ];
    let uri = served.address.uri();
    let mut arguments = vec!["-f", "raw", &uri];
    arguments.extend(commands.iter().flat_map(|command| ["-c", command]));
    if let Some(printed) = run("qemu-io", &arguments, served.folder.path()) {
        assert!(!printed.contains("failed"), "{printed}");
        // Each but the flushes says what it did.
        let said = printed.matches(" bytes at offset ").count();
        assert_eq!(said, commands.len() - 2, "{printed}");
    }
}

// Does libnbd see the drive as it is, from a list as well, over TCP?
#[test]
fn nbdinfo() {
    let served = Served::new(&How { tcp: true, ..How::default() });
    let uri = served.address.uri();
    for arguments in [&["--json", &uri][..], &["--json", "--list", &uri]] {
        let Some(printed) = run("nbdinfo", arguments, served.folder.path()) else { return };
        let size = format!("\"export-size\": {}", SIZE.0);
        for expected in [
            &size[..],
            "\"structured\": true",
            "\"can_multi_conn\": true",
            "\"can_fua\": true",
            "\"can_trim\": true",
            "\"can_df\": true",
            "\"can_zero\": true",
            "\"block_size_minimum\": 512",
            "\"is_read_only\": false",
        ] {
            assert!(printed.contains(expected), "{expected} is not in {printed}");
        }
    }
}

// Are files copied to a drive and back by several connections the same?
#[test]
fn nbdcopy() {
    let served = Served::new(&How { speed: Speed::Times(100.0), ..How::default() });
    let folder = served.folder.path();
    let mut random = fastrand::Rng::with_seed(1);
    let mut image = vec![0; usize::try_from(SIZE.0).unwrap()];
    random.fill(&mut image[..5_000_000]);
    random.fill(&mut image[100_000_000..]);
    std::fs::write(folder.join("image"), &image).unwrap();
    let uri = served.address.uri();
    if run("nbdcopy", &["--flush", "image", &uri], folder).is_some() {
        run("nbdcopy", &[&uri, "back"], folder);
        assert!(
            std::fs::read(folder.join("back")).unwrap() == image,
            "what came back is different"
        );
    }
}

// Does fio find what it wrote, with 32 requests of any length in flight?
#[test]
fn fio_verifies() {
    let served = Served::new(&How { speed: Speed::Times(10.0), ..How::default() });
    let uri = format!("--uri={}", served.address.uri());
    let arguments = [
        "--name=x",
        "--ioengine=nbd",
        &uri,
        "--rw=randwrite",
        "--bsrange=512-64k",
        "--iodepth=32",
        "--size=64m",
        "--verify=crc32c",
        "--verify_backlog=500",
        "--verify_fatal=1",
        "--randseed=1",
    ];
    if let Some(printed) = run("fio", &arguments, served.folder.path()) {
        assert!(printed.contains("err= 0"), "{printed}");
    }
}
