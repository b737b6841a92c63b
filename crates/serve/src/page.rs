//! The page of the application: one HTML file and its content security policy.

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

/// The page and its policy.
pub(crate) struct Page {
    html: Bytes,
    /// The compressed HTML. Most clients accept gzip, and compressing the page for each client
    /// would be most of the server's work.
    gzip: Bytes,
    tag: String,
    /// The `Content-Security-Policy`: the page runs only its own scripts and connects only to this
    /// server.
    policy: HeaderValue,
}

impl Page {
    /// Creates the page with its policy.
    pub(crate) fn new(html: String) -> Page {
        let hashes: String = scripts(&html)
            .map(|script| format!(" 'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(script))))
            .collect();
        // The simulator is WebAssembly in a worker, whose script is a part of the page. Charts use
        // style attributes, which a policy cannot allow by hash.
        let policy = format!(
            "default-src 'none'; script-src{hashes} 'wasm-unsafe-eval'; worker-src blob:; style-src 'unsafe-inline'; \
             img-src data: blob:; font-src data:; connect-src 'self'; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'none'"
        );
        let policy = HeaderValue::from_str(&policy).expect("hashes and words are visible");
        let (tag, html) = (tag_of(html.as_bytes()), Bytes::from(html));
        Page { gzip: gzip(&html), html, tag, policy }
    }

    /// Builds the response to a request with `headers`.
    pub(crate) fn answer(&self, headers: &HeaderMap) -> Response {
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
    written.expect("memory absorbs writes").into()
}

/// Returns true if the client accepts gzip without a quality value. For any other header, the
/// server sends the uncompressed page, which every client accepts.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT_ENCODING);
    let mut texts = accepted.iter().filter_map(|text| text.to_str().ok());
    texts.any(|text| text.split(',').any(|one| one.trim().eq_ignore_ascii_case("gzip")))
}

/// Returns the contents of the script elements that a browser would run.
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

    #[test]
    fn policy_allows_scripts_by_hash_and_no_data() {
        let html = "<script id=\"report\" type=\"application/json\">{}</script><style>a</style>\
                    <script type=\"module\" crossorigin>alert(1)</script>";
        assert_eq!(scripts(html).collect::<Vec<_>>(), ["alert(1)"]);
        let hash = BASE64_STANDARD.encode(Sha256::digest("alert(1)"));
        let policy = Page::new(html.into()).policy;
        let policy = policy.to_str().unwrap();
        assert!(
            policy.contains(&format!("script-src 'sha256-{hash}' 'wasm-unsafe-eval';")),
            "{policy}"
        );
        assert!(!policy.contains("script-src 'unsafe"), "{policy}");
    }

    #[test]
    fn compressed_page_is_the_same() {
        let page = Page::new("<p>é</p>".repeat(99));
        let answer = |accepted: &'static str| {
            let accepted = HeaderValue::from_static(accepted);
            page.answer(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, accepted)]))
        };
        for (accepted, encoding) in
            [("br, GZIP", Some("gzip")), ("gzip;q=0", None), ("identity", None), ("", None)]
        {
            let answer = answer(accepted);
            let sent = answer.headers().get(header::CONTENT_ENCODING);
            assert_eq!(sent.map(|sent| sent.to_str().unwrap()), encoding, "{accepted}");
            assert_eq!(answer.headers()[header::ETAG], page.tag.as_str());
        }
        let mut decoder = flate2::write::GzDecoder::new(Vec::new());
        decoder.write_all(&page.gzip).unwrap();
        assert_eq!(decoder.finish().unwrap(), page.html);
        assert!(page.gzip.len() < page.html.len());
    }

    #[test]
    fn policy_has_a_hash_for_each_script_of_the_application() {
        let html = flashscope_report::served_html(Default::default());
        let page = Page::new(html.clone());
        let policy = page.policy.to_str().unwrap();
        assert!(scripts(&html).all(|script| !script.is_empty()));
        assert_eq!(policy.matches("'sha256-").count(), scripts(&html).count());
        assert!(policy.contains("'sha256-"));
    }
}
