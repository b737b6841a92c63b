//! Requests to the server over results of each kind: any answer is allowed except an internal
//! error.

use std::cell::RefCell;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use flashscope_serve::{Access, Folders, app};
use tokio::runtime::Runtime;
use tower::ServiceExt;

use crate::repository;

thread_local! {
    static SERVER: RefCell<(Runtime, Router)> = RefCell::new(server());
}

fn server() -> (Runtime, Router) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let folders = Folders::new(vec![repository("testdata/results")]);
    (runtime.expect("a runtime"), app(folders, Access::Network))
}

/// Sends a request; the first line of the input is a method and an address, and the other lines are
/// the body.
pub fn run(input: &[u8]) {
    let (line, body) =
        input.split_at(input.iter().position(|b| *b == b'\n').unwrap_or(input.len()));
    let Ok(line) = std::str::from_utf8(line) else { return };
    let Some((method, address)) = line.split_once(' ') else { return };
    // A PUT would write files next to the samples.
    let method = if method == "PUT" { "PATCH" } else { method };
    let request = Request::builder()
        .method(method)
        .uri(address)
        .header(header::HOST, "localhost")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body.get(1..).unwrap_or_default().to_vec()));
    let Ok(request) = request else { return };
    SERVER.with_borrow(|(runtime, router)| {
        let answer = runtime.block_on(router.clone().oneshot(request)).expect("the server answers");
        assert_ne!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR, "{line}");
    });
}

/// Addresses to try; `#` stands for any number and `$` for any result.
const ADDRESSES: &[&str] = &[
    "/",
    "/api/openapi.json",
    "/api/shelf?search=$&kind=probe&limit=#&offset=#",
    "/api/shelf?capacity_min=#&capacity_max=#&sort=-random_write",
    "/api/results/$",
    "/api/simulations/$",
    "/api/probes/$",
    "/api/sweeps/$",
    "/api/results/$/runs/#/outline?from=#&to=#&stretches=#",
    "/api/results/$/runs/#/histogram?from=#&to=#",
    "/api/results/$/runs/#/ios?from=#&count=#",
    "/api/results/$/runs/#/activities?from_ns=#&to_ns=#",
    "/api/results/$/colours?micro_benchmark=granularity&experiment=SR&from=#&to=#&columns=#",
    "/api/results/$/matches?where=latency%20%3E%20#%20ns%20and%20run%20%3D%20#&limit=#",
    "/api/predictions/$",
    "/api/twins/$",
    "/api/comparison?ids=$,$,$",
    "/api/what-if",
];
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "7",
    "8",
    "9",
    "36",
    "37",
    "400",
    "4294967295",
    "4294967296",
    "9007199254740991",
    "9007199254740992",
    "18446744073709551615",
    "-1",
    "",
    "1e9",
    "%30",
];
const RESULTS: &[&str] = &["v1", "inside", "probed", "simulated", "swept", "..%2Fv1", "", "%00"];

pub fn generate(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut text = String::from(["GET ", "GET ", "GET ", "HEAD ", "POST "][random.usize(..5)]);
    for part in ADDRESSES[random.usize(..ADDRESSES.len())].chars() {
        match part {
            '#' => text += NUMBERS[random.usize(..NUMBERS.len())],
            '$' => text += RESULTS[random.usize(..RESULTS.len())],
            other => text.push(other),
        }
    }
    text.into_bytes()
}
