//! Tests the API of an attached drive.

use axum::body::Body;
use axum::http::{Request, header};
use flashscope_serve::{Access, Attachment, attached};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::{Answer, ask};

/// The query that the drive received.
#[derive(Serialize, JsonSchema)]
struct ReceivedQuery {
    after: Option<u64>,
}

fn get(path: &str, host: &str) -> Answer {
    let attachment = Attachment {
        live: Box::new(|after| ReceivedQuery { after }),
        metrics: Box::new(|| "up 1\n".into()),
        metrics_type: "text/plain; version=0",
    };
    let request = Request::get(path).header(header::HOST, host).body(Body::empty()).unwrap();
    ask(&attached(attachment, Access::Loopback), request)
}

#[test]
fn each_request_gets_a_fresh_snapshot() {
    let json = |path| get(path, "localhost").ok().json();
    assert_eq!(json("/api/attached"), json!({ "after": null }));
    assert_eq!(json("/api/attached?after=7"), json!({ "after": 7 }));
    let error = get("/api/attached?after=x", "localhost").error(400);
    assert!(error.contains("the query is invalid"), "{error}");
    let parameters = &json("/api/openapi.json")["paths"]["/api/attached"]["get"]["parameters"];
    assert_eq!(parameters[0]["name"], "after");
}

#[test]
fn metrics_and_page_are_served_to_known_hosts_only() {
    let metrics = get("/metrics", "127.0.0.1:9000").ok();
    assert_eq!(metrics.headers[header::CONTENT_TYPE], "text/plain; version=0");
    assert_eq!(metrics.body, b"up 1\n");
    let page = String::from_utf8(get("/", "localhost").ok().body).unwrap();
    assert!(page.contains("{\"attached\":true}"));
    for path in ["/metrics", "/api/attached"] {
        assert!(get(path, "evil.example").error(403).contains("127.0.0.1"));
    }
    assert!(get("/api/shelf", "localhost").error(404).contains("openapi.json"));
}
