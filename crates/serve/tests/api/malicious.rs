//! Tests results that are damaged, unfinished or malicious: the shelf shows each with its problem,
//! and other results work.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::{Place, edit};

/// Checks that the other result on the shelf still works.
#[track_caller]
fn rest_works(place: &Place) {
    assert_eq!(place.problem("demo"), "");
    place.get("/api/results/demo/runs/1/ios").ok();
}

#[test]
fn unreadable_manifests_are_reported_by_every_address() {
    let place = Place::new();
    type Break = fn(&Path);
    let cases: [(&str, &str, Break); 8] = [
        ("cut", "is damaged", |path| {
            let whole = fs::read(path.join("manifest.json")).unwrap();
            fs::write(path.join("manifest.json"), &whole[..whole.len() / 2]).unwrap();
        }),
        ("newer", "format version 999; this flashscope reads up to", |path| {
            edit(&path.join("manifest.json"), |manifest| manifest["schema_version"] = 999.into());
        }),
        ("half-written", "is not a result", |path| {
            fs::remove_file(path.join("manifest.json")).unwrap()
        }),
        ("no-json", "is damaged", |path| {
            fs::write(path.join("manifest.json"), [0xff; 99]).unwrap()
        }),
        ("deep", "is damaged", |path| {
            let deep = format!("{{\"schema_version\":3,\"more\":{}", "[".repeat(100_000));
            fs::write(path.join("manifest.json"), deep).unwrap();
        }),
        ("link", "is not a regular file", |path| {
            fs::remove_file(path.join("manifest.json")).unwrap();
            symlink("/dev/zero", path.join("manifest.json")).unwrap();
        }),
        ("pipe", "is not a regular file", |path| {
            fs::remove_file(path.join("manifest.json")).unwrap();
            let status = Command::new("mkfifo").arg(path.join("manifest.json")).status();
            assert!(status.unwrap().success());
        }),
        ("huge", "more than the limit of 67108864", |path| {
            let file = fs::File::create(path.join("manifest.json")).unwrap();
            file.set_len(1 << 40).unwrap();
        }),
    ];
    for (name, words, damage) in cases {
        damage(&place.add(name));
        let problem = place.problem(name);
        assert!(problem.contains(words), "{name}: {problem}");
        for address in ["", "/runs/1/outline", "/colours?micro_benchmark=pause&experiment=SR"] {
            let error = place.get(&format!("/api/results/{name}{address}")).error(422);
            assert_eq!(error, problem);
        }
    }
    rest_works(&place);
}

#[test]
fn damaged_facts_and_marks_do_not_hide_the_rest() {
    let place = Place::new();
    let path = place.add("facts");
    fs::write(path.join("facts.json"), "{").unwrap();
    assert_eq!(
        place.get("/api/results/facts").ok().json()["facts"]["runs"].as_array().unwrap().len(),
        36
    );
    fs::write(path.join("marks.json"), "{").unwrap();
    assert!(place.get("/api/results/facts").error(422).contains("marks.json is damaged"));
    rest_works(&place);
}

/// Makes the first page with 8 values of 8 bytes claim a size of 1 GiB; the file keeps its length.
fn claim_a_gibibyte(file: &mut [u8]) {
    // A data page of version 2 with 8 rows of 8 bytes each: 64 bytes before compression.
    let header = [0x15, 6, 0x15, 128, 1, 0x15];
    let at = file.windows(header.len()).position(|window| window == header);
    let at = at.unwrap() + 3;
    // 2³⁰ in zigzag encoding, 7 bits per byte.
    let claimed = [0x80, 0x80, 0x80, 0x80, 0x08];
    let longer = claimed.len() - 2;
    // The header grows into the space of the compressed data, whose stated length shrinks by as
    // much.
    file[at + 3] -= 2 * u8::try_from(longer).unwrap();
    let end = at + 60;
    file.copy_within(at + 2..end - longer, at + claimed.len());
    file[at..at + claimed.len()].copy_from_slice(&claimed);
}

// The server must refuse the records before it decodes any of them. They are missing, truncated,
// different from the manifest, or a Parquet bomb.
#[test]
fn invalid_records_are_refused_before_decoding() {
    let place = Place::new();
    type Break = fn(&Path);
    let file = "records/run-00003-000.parquet";
    let cases: [(&str, &str, Break); 6] = [
        ("missing", "0 of the 8 IOs of run 3 are there", |path| {
            fs::remove_file(path.join("records/run-00003-000.parquet")).unwrap();
        }),
        ("cut", "is damaged", |path| {
            let path = path.join("records/run-00003-000.parquet");
            let whole = fs::read(&path).unwrap();
            fs::write(&path, &whole[..whole.len() - 100]).unwrap();
        }),
        ("more", "it holds 8 IOs of run 3 instead of 7", |path| {
            edit(&path.join("manifest.json"), |manifest| {
                let runs = &mut manifest["micro_benchmarks"][0]["experiments"][0]["runs"];
                runs[2]["progress"]["ios"] = 7.into();
            });
        }),
        ("bomb", "the limit is 1048576", |path| {
            let path = path.join("records/run-00003-000.parquet");
            let mut bytes = fs::read(&path).unwrap();
            claim_a_gibibyte(&mut bytes);
            fs::write(&path, bytes).unwrap();
        }),
        ("pipe", "it is not a file", |path| {
            let path = path.join("records/run-00003-000.parquet");
            fs::remove_file(&path).unwrap();
            assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        }),
        ("zeros", "is damaged", |path| {
            let path = path.join("records/run-00003-000.parquet");
            let len = fs::read(&path).unwrap().len();
            fs::write(path, vec![0; len]).unwrap();
        }),
    ];
    for (name, words, damage) in cases {
        let path = place.add(name);
        assert!(path.join(file).exists());
        damage(&path);
        for address in ["", "/runs/3/ios", "/runs/3/histogram"] {
            let error = place.get(&format!("/api/results/{name}{address}")).error(422);
            assert!(error.contains(words), "{name}: {error}");
        }
    }
    rest_works(&place);
}

#[test]
fn damaged_records_never_stop_the_server() {
    let place = Place::new();
    let path = place.add("damaged");
    let file = path.join("records/run-00003-000.parquet");
    let whole = fs::read(&file).unwrap();
    let mut refused = 0;
    for at in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        fs::write(&file, bytes).unwrap();
        // A changed manifest keeps the server from returning a cached answer.
        edit(&path.join("manifest.json"), |manifest| {
            manifest["tool"]["version"] = at.to_string().into()
        });
        let answer = place.get("/api/results/damaged/runs/3/ios?count=8");
        match answer.status.as_u16() {
            200 => {}
            422 => refused += 1,
            other => panic!("{at}: {other}: {}", String::from_utf8_lossy(&answer.body)),
        }
    }
    assert!(refused > 50, "{refused}");
    rest_works(&place);
}

#[test]
fn special_characters_in_names_are_harmless() {
    let place = Place::new();
    let secret = place.path("secret");
    fs::write(&secret, "secret").unwrap();
    for id in [
        "..",
        "%2e%2e",
        "..%2f..%2fsecret",
        "%2fetc%2fpasswd",
        "demo.flashscope%2f..%2fdemo",
        "demo%00",
        "%ff",
    ] {
        for address in [
            format!("/api/results/{id}"),
            format!("/api/simulations/{id}"),
            format!("/api/results/{id}/runs/1/ios"),
        ] {
            let answer = place.get(&address);
            assert!(matches!(answer.status.as_u16(), 400 | 404), "{address}: {}", answer.status);
            assert!(!String::from_utf8_lossy(&answer.body).contains("\"manifest\""));
        }
    }
    let path = place.add("a<script>alert(1)<b>,..");
    edit(&path.join("manifest.json"), |manifest| {
        manifest["device"]["name"] = "</script><script>alert(1)</script>".into();
        manifest["device"]["model"] = "../../../etc/passwd".into();
    });
    let item = place.item("a-script-alert-1--b--..");
    assert_eq!(item["name"], "a<script>alert(1)<b>,..");
    assert_eq!(item["device"]["name"], "</script><script>alert(1)</script>");
    // The names are only in the response, which is JSON and not a page. The page itself contains
    // none of them.
    let answer = place.get("/api/results/a-script-alert-1--b--..").ok();
    assert_eq!(answer.headers["content-type"], "application/json");
    assert!(!String::from_utf8_lossy(&place.get("/").ok().body).contains("alert(1)"));
    rest_works(&place);
}

#[test]
fn links_are_not_followed() {
    let place = Place::new();
    let outside = Place::new();
    symlink(outside.path("demo.flashscope"), place.path("linked.flashscope")).unwrap();
    symlink(place.folder.path(), place.path("circle")).unwrap();
    assert_eq!(place.get("/api/shelf").ok().json()["total"], 1);
    rest_works(&place);
}
