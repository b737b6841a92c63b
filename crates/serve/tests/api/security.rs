//! Tests access control and security headers.

use std::fs;

use axum::body::Body;
use axum::http::Request;
use flashscope_serve::{Access, Folders, app};

use super::{Place, ask};

const NO_MARKS: &str = "{\"experiments\":[]}";

#[test]
fn loopback_server_refuses_other_host_names() {
    let place = Place::new();
    let status = |host: &str| {
        let request = Request::get("/api/shelf").header("host", host).body(Body::empty());
        ask(&place.app, request.unwrap()).status.as_u16()
    };
    for host in ["localhost", "LOCALHOST:80", "127.0.0.1:7470", "[::1]:7470"] {
        assert_eq!(status(host), 200, "{host}");
    }
    for host in [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:80",
        "",
        "a b",
        "192.168.0.1",
    ] {
        assert_eq!(status(host), 403, "{host}");
    }
    let none = ask(&place.app, Request::get("/api/shelf").body(Body::empty()).unwrap());
    assert!(none.error(403).contains("--listen"));
}

#[test]
fn other_sites_and_network_servers_change_nothing() {
    let place = Place::new();
    let path = "/api/results/demo/marks";
    for headers in [
        &[("origin", "http://evil.example")][..],
        &[("origin", "http://localhost:2")],
        &[("origin", "null")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site"), ("origin", "http://localhost:2")],
    ] {
        let error = place.put(path, NO_MARKS, headers).error(403);
        assert!(error.contains("another site"), "{headers:?}: {error}");
    }
    assert!(!place.path("demo.flashscope/marks.json").exists());
    for headers in [
        &[][..],
        &[("origin", "http://localhost:1")],
        &[("sec-fetch-site", "same-origin"), ("origin", "http://localhost:1")],
    ] {
        assert_eq!(place.put(path, NO_MARKS, headers).status, 204, "{headers:?}");
    }
    let open = app(Folders::new(vec![place.folder.path().into()]), Access::Network);
    let place = Place { app: open, ..place };
    fs::remove_file(place.path("demo.flashscope/marks.json")).unwrap();
    // A forbidden request is refused before its body is read.
    for body in [NO_MARKS, "{", &" ".repeat(3 << 20)] {
        let refused = place.put(path, body.to_string(), &[]);
        assert_eq!(refused.headers["connection"], "close");
        assert!(refused.error(403).contains("this machine alone"));
    }
    assert!(!place.path("demo.flashscope/marks.json").exists());
}

#[test]
fn every_response_has_security_headers() {
    let place = Place::new();
    for path in ["/", "/api/shelf", "/api/nothing", "/api/openapi.json", "/api/results/%00"] {
        let headers = place.get(path).headers;
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(headers[name], value, "{path}");
        }
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
        assert!(!headers.contains_key("access-control-allow-origin"));
    }
    let page = place.get("/").ok();
    assert!(String::from_utf8_lossy(&page.body).contains("{\"served\":true,"));
    let policy = page.headers["content-security-policy"].to_str().unwrap().to_string();
    assert!(policy.contains("script-src 'sha256-") && !policy.contains("script-src 'unsafe"));
}

#[test]
fn responses_are_tagged_and_compressed() {
    let place = Place::new();
    let first = place.get("/api/results/demo").ok();
    let again = |tag: &str| {
        let request = Request::get("/api/results/demo").header("host", "localhost");
        ask(&place.app, request.header("if-none-match", tag).body(Body::empty()).unwrap())
    };
    let same = again(first.headers["etag"].to_str().unwrap());
    assert_eq!((same.status.as_u16(), same.body.len()), (304, 0));
    assert_eq!(again("W/\"other\"").status, 200);
    let request = Request::get("/api/results/demo").header("host", "localhost");
    let request = request.header("accept-encoding", "gzip").body(Body::empty()).unwrap();
    let compressed = ask(&place.app, request);
    assert_eq!(compressed.headers["content-encoding"], "gzip");
    assert!(compressed.body.len() * 3 < first.body.len());
}
