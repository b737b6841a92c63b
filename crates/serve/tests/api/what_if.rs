//! Tests the what-if endpoints.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, header};
use flashscope_document::what_if::{Variant, WHAT_IF_VERSION, WhatIf, WhatIfStatus};
use flashscope_report::{WhatIfChoices, WhatIfQuestion};
use flashscope_serve::what_if::{AnswerFn, Tell, WhatIfs};
use flashscope_serve::{Access, Folders, app_answering, openapi};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::{Answer, Place, ask};

/// A service with two drives. For `sim`, it answers with one step per variant. For `endless`, it
/// runs until the request is cancelled, and then sets `stopped`.
#[derive(Clone, Default)]
pub(crate) struct ScriptedWhatIfs {
    stopped: Arc<Mutex<bool>>,
}

fn variant(name: &str) -> Variant {
    Variant {
        name: name.into(),
        changes: Vec::new(),
        drive: "sim".into(),
        workload: "uniform".into(),
        closed_form: None,
        not_predicted: None,
        status: None,
        reason: None,
        simulated: Vec::new(),
        disagreement: None,
    }
}

fn what_if(variants: usize, status: WhatIfStatus) -> WhatIf {
    let variants = (0..variants).map(|nth| variant(&nth.to_string())).collect();
    let base = variant("baseline");
    let conclusions = vec![];
    let schema_version = WHAT_IF_VERSION;
    WhatIf { schema_version, status, conclusions, seed: 1, repeats: 1, base, variants }
}

impl WhatIfs for ScriptedWhatIfs {
    fn choices(&self) -> WhatIfChoices {
        let none = Vec::new;
        WhatIfChoices { drives: none(), workloads: none(), fields: none(), changes: none() }
    }

    fn ask(&self, question: &WhatIfQuestion) -> Result<Box<AnswerFn>, String> {
        let (steps, stopped) = (question.variants.len(), Arc::clone(&self.stopped));
        match question.drive.as_str() {
            "sim" => Ok(Box::new(move |_: &AtomicBool, tell: &mut Tell<'_>| {
                (1..steps).for_each(|step| tell(&what_if(step, WhatIfStatus::Unfinished)));
                tell(&what_if(steps, WhatIfStatus::Complete));
            })),
            "endless" => Ok(Box::new(move |stop: &AtomicBool, tell: &mut Tell<'_>| {
                tell(&what_if(1, WhatIfStatus::Unfinished));
                while !stop.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                *stopped.lock().unwrap() = true;
            })),
            other => Err(format!("there is no drive `{other}`")),
        }
    }
}

fn app(access: Access) -> (Router, ScriptedWhatIfs) {
    let scripted = ScriptedWhatIfs::default();
    (app_answering(Folders::new(Vec::new()), access, scripted.clone()), scripted)
}

fn question(drive: &str, variants: usize) -> Value {
    let variant = json!({ "changes": "ftl=fast" });
    json!({ "drive": drive, "workload": "uniform", "variants": vec![variant; variants] })
}

fn request(body: &Value, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::builder().method(Method::POST).uri("/api/what-if");
    let fixed = [("host", "localhost"), ("content-type", "application/json")];
    for (name, value) in fixed.iter().chain(headers) {
        request = request.header(*name, *value);
    }
    request.body(body.to_string().into()).unwrap()
}

fn post(body: &Value, headers: &[(&str, &str)]) -> Answer {
    ask(&app(Access::Loopback).0, request(body, headers))
}

#[test]
fn steps_are_uncompressed_lines_as_described() {
    let answer = post(&question("sim", 3), &[("accept-encoding", "gzip")]).ok();
    assert_eq!(answer.headers[header::CONTENT_TYPE], "application/x-ndjson");
    assert!(!answer.headers.contains_key(header::CONTENT_ENCODING));
    let text = String::from_utf8(answer.body).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["status"], "unfinished");
    assert_eq!(lines[2]["status"], "complete");
    let document = openapi();
    let described = &document["paths"]["/api/what-if"]["post"];
    let schema = &described["responses"]["200"]["content"]["application/x-ndjson"]["schema"];
    let whole = json!({ "allOf": [schema], "components": document["components"] });
    let validator = jsonschema::draft202012::new(&whole).unwrap();
    lines.iter().for_each(|line| assert!(validator.is_valid(line), "{line}"));
    let body = &described["requestBody"]["content"]["application/json"]["schema"];
    let whole = json!({ "allOf": [body], "components": document["components"] });
    let validator = jsonschema::draft202012::new(&whole).unwrap();
    assert!(validator.is_valid(&question("sim", 3)) && !validator.is_valid(&json!({})));
}

#[test]
fn invalid_requests_are_refused() {
    let with = |name: &str, value: Value| {
        let mut body = question("sim", 1);
        body[name] = value;
        body
    };
    for (body, status, words) in [
        (question("dmo", 1), 422, "there is no drive `dmo`"),
        (question("sim", 0), 422, "the number of `variants` must be from 1 to"),
        (question("sim", 33), 422, "from 1 to 32"),
        (with("repeats", json!(31)), 422, "`repeats` must be from 1 to 30"),
        (with("ios", json!(0)), 422, "`ios` must be from 1 to"),
        (with("colour", json!("red")), 422, "unknown field `colour`"),
        (with("drive", json!("x".repeat(70_000))), 413, "too large"),
        (json!({}), 422, "missing field"),
    ] {
        let error = post(&body, &[]).error(status);
        assert!(error.contains(words), "{error}");
    }
    let local = app(Access::Loopback).0;
    let foreign = [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")];
    ask(&local, request(&question("sim", 1), &foreign)).error(403);
    let text = [("host", "localhost"), ("content-type", "text/plain")];
    let request =
        Request::post("/api/what-if").header(text[0].0, text[0].1).header(text[1].0, text[1].1);
    ask(&local, request.body(Body::empty()).unwrap()).error(415);
}

#[test]
fn network_servers_refuse_what_ifs() {
    let (open, _) = app(Access::Network);
    let error = ask(&open, request(&question("sim", 1), &[])).error(403);
    assert!(error.contains("a server that listens on this machine alone"), "{error}");
    let nothing = flashscope_serve::app(Folders::new(Vec::new()), Access::Loopback);
    ask(&nothing, request(&question("sim", 1), &[])).error(403);
    Place::empty().get("/api/what-if").ok();
    // Without the service, the page does not offer what-ifs either.
    let page = Request::get("/").header("host", "localhost").body(Body::empty()).unwrap();
    let page = String::from_utf8(ask(&nothing, page).ok().body).unwrap();
    assert!(
        page.contains(r#"{"served":true,"what_ifs":false,"submissions":false,"commands":false}"#)
    );
}

#[test]
fn closing_the_connection_cancels_and_few_run_at_once() {
    let (app, scripted) = app(Access::Loopback);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let asking = || app.clone().oneshot(request(&question("endless", 1), &[]));
        let (first, second) = (asking().await.unwrap(), asking().await.unwrap());
        assert_eq!((first.status().as_u16(), second.status().as_u16()), (200, 200));
        assert_eq!(asking().await.unwrap().status().as_u16(), 429);
        drop((first, second));
        while !*scripted.stopped.lock().unwrap() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let mut again = asking().await.unwrap();
        while again.status().as_u16() == 429 {
            tokio::time::sleep(Duration::from_millis(1)).await;
            again = asking().await.unwrap();
        }
        assert_eq!(again.status().as_u16(), 200);
    });
}
