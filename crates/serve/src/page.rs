//! The application: one HTML file, and what its browser is allowed to do.

use axum::body::Bytes;
use axum::http::HeaderValue;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

/// The page and the policy that goes with it.
pub struct Page {
    /// The HTML.
    pub html: Bytes,
    /// Its `Content-Security-Policy`: nothing but its own scripts is run, and nothing but this server
    /// is spoken to.
    pub policy: HeaderValue,
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
        Page { html: html.into(), policy }
    }
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
