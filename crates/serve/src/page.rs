//! The application: one HTML file, and what its browser is allowed to do.

use std::io::Write as _;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use crate::endpoint::{tag_of, tagged_with};

/// The page and the policy that goes with it.
pub struct Page {
    html: Bytes,
    /// The HTML as most ask for it: compressing it for each would be most of what the server does.
    gzip: Bytes,
    tag: String,
    /// Its `Content-Security-Policy`: nothing but its own scripts is run, and nothing but this server
    /// is spoken to.
    policy: HeaderValue,
}

impl Page {
    /// The page with its policy.
    pub fn new(html: String) -> Page {
        let hashes: String = scripts(&html)
            .map(|script| format!(" 'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(script))))
            .collect();
        // Charts are placed by style attributes, which cannot be named by a hash.
        let policy = format!(
            "default-src 'none'; script-src{hashes}; style-src 'unsafe-inline'; \
             img-src data: blob:; font-src data:; connect-src 'self'; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'none'"
        );
        let policy = HeaderValue::from_str(&policy).expect("hashes and words are visible");
        let (tag, html) = (tag_of(html.as_bytes()), Bytes::from(html));
        Page { gzip: gzip(&html), html, tag, policy }
    }

    /// What is answered to a request with `headers`.
    pub fn answer(&self, headers: &HeaderMap) -> Response {
        let compressed = accepts_gzip(headers);
        let body = if compressed { &self.gzip } else { &self.html };
        let kind = "text/html; charset=utf-8";
        let mut response = tagged_with(self.tag.clone(), kind, body.clone(), headers);
        let whole = response.status() == StatusCode::OK;
        let fields = response.headers_mut();
        fields.insert(header::CONTENT_SECURITY_POLICY, self.policy.clone());
        fields.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        if compressed && whole {
            fields.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }
}

fn gzip(bytes: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("memory takes what is written").into()
}

/// Whether who asks takes gzip, and does not say how gladly: otherwise it gets what is always right.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT_ENCODING);
    let mut texts = accepted.iter().filter_map(|text| text.to_str().ok());
    texts.any(|text| text.split(',').any(|one| one.trim().eq_ignore_ascii_case("gzip")))
}

/// What stands in the script elements that a browser would run.
fn scripts(html: &str) -> impl Iterator<Item = &str> {
    html.split("<script").skip(1).filter_map(|rest| {
        let (attributes, rest) = rest.split_once('>')?;
        let (script, _) = rest.split_once("</script>")?;
        (!attributes.contains("application/json")).then_some(script)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Is every script that is run allowed by its hash, and data is not?
    #[test]
    fn scripts_are_known_by_hash() {
        let html = "<script id=\"report\" type=\"application/json\">{}</script><style>a</style>\
                    <script type=\"module\" crossorigin>alert(1)</script>";
        assert_eq!(scripts(html).collect::<Vec<_>>(), ["alert(1)"]);
        let hash = BASE64_STANDARD.encode(Sha256::digest("alert(1)"));
        let policy = Page::new(html.into()).policy;
        let policy = policy.to_str().unwrap();
        assert!(policy.contains(&format!("script-src 'sha256-{hash}';")), "{policy}");
        assert!(!policy.contains("script-src 'unsafe"), "{policy}");
    }

    // Does who takes gzip get the same page as who does not?
    #[test]
    fn compressed_is_the_same() {
        let page = Page::new("<p>é</p>".repeat(99));
        let answer = |accepted: &'static str| {
            let accepted = HeaderValue::from_static(accepted);
            page.answer(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, accepted)]))
        };
        for (accepted, encoding) in
            [("br, GZIP", Some("gzip")), ("gzip;q=0", None), ("identity", None), ("", None)]
        {
            let answer = answer(accepted);
            let found = answer.headers().get(header::CONTENT_ENCODING);
            assert_eq!(found.map(|found| found.to_str().unwrap()), encoding, "{accepted}");
            assert_eq!(answer.headers()[header::ETAG], page.tag.as_str());
        }
        let mut decoder = flate2::write::GzDecoder::new(Vec::new());
        decoder.write_all(&page.gzip).unwrap();
        assert_eq!(decoder.finish().unwrap(), page.html);
        assert!(page.gzip.len() < page.html.len());
    }

    // Has the application a script, and each one a hash?
    #[test]
    fn the_application_runs() {
        let html = flashscope_report::served_html();
        let page = Page::new(html.clone());
        let policy = page.policy.to_str().unwrap();
        assert!(scripts(&html).all(|script| !script.is_empty()));
        assert_eq!(policy.matches("'sha256-").count(), scripts(&html).count());
        assert!(policy.contains("'sha256-"));
    }
}
