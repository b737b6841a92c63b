//! Tests with NBD clients of other projects.

#![allow(clippy::print_stderr, reason = "reports skipped tests")]

use std::path::Path;
use std::process::{Command, Output};

use flashscope_attach::Speed;

use crate::served::{SIZE, ServerOptions, TestServer};

/// Runs a program that must succeed and returns its output; `None` if it is not installed.
fn run(program: &str, arguments: &[&str], folder: &Path) -> Option<String> {
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let Ok(Output { status, stdout, stderr }) = output else {
        eprintln!("skipped: {program} is not installed (see scripts/install-tools)");
        return None;
    };
    let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(status.success(), "{program} {arguments:?}: {stdout}{stderr}");
    Some(stdout + &stderr)
}

// QEMU reads back data that it wrote, trimmed and zeroed, at unaligned offsets too.
#[test]
fn qemu_io_reads_back_its_data() {
    let server = TestServer::new(&ServerOptions::default());
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
    let uri = server.address.uri();
    let mut arguments = vec!["-f", "raw", &uri];
    arguments.extend(commands.iter().flat_map(|command| ["-c", command]));
    if let Some(printed) = run("qemu-io", &arguments, server.folder.path()) {
        assert!(!printed.contains("failed"), "{printed}");
        // Each command except the flushes prints a line.
        let lines = printed.matches(" bytes at offset ").count();
        assert_eq!(lines, commands.len() - 2, "{printed}");
    }
}

// libnbd reads the drive's properties over TCP, also from a list of exports.
#[test]
fn nbdinfo_shows_the_properties_of_the_drive() {
    let server = TestServer::new(&ServerOptions { tcp: true, ..ServerOptions::default() });
    let uri = server.address.uri();
    for arguments in [&["--json", &uri][..], &["--json", "--list", &uri]] {
        let Some(printed) = run("nbdinfo", arguments, server.folder.path()) else { return };
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

// A file that several connections copy to a drive and back is unchanged.
#[test]
fn nbdcopy_copies_a_file_unchanged() {
    let server =
        TestServer::new(&ServerOptions { speed: Speed::Times(100.0), ..ServerOptions::default() });
    let folder = server.folder.path();
    let mut random = fastrand::Rng::with_seed(1);
    let mut image = vec![0; usize::try_from(SIZE.0).unwrap()];
    random.fill(&mut image[..5_000_000]);
    random.fill(&mut image[100_000_000..]);
    std::fs::write(folder.join("image"), &image).unwrap();
    let uri = server.address.uri();
    if run("nbdcopy", &["--flush", "image", &uri], folder).is_some() {
        run("nbdcopy", &[&uri, "back"], folder);
        assert!(
            std::fs::read(folder.join("back")).unwrap() == image,
            "the copy differs from the original"
        );
    }
}

// fio verifies its data with 32 requests of various lengths in flight.
#[test]
fn fio_reads_back_what_it_wrote() {
    let server =
        TestServer::new(&ServerOptions { speed: Speed::Times(10.0), ..ServerOptions::default() });
    let uri = format!("--uri={}", server.address.uri());
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
    if let Some(printed) = run("fio", &arguments, server.folder.path()) {
        assert!(printed.contains("err= 0"), "{printed}");
    }
}
