//! Limits the rate of read-only requests, by address. Requests that change something need a token,
//! and each token has its own limit.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{Extensions, HeaderMap};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use flashscope_serve::Problem;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

/// The number of requests after which idle addresses are removed from the table.
const FORGET: usize = 4096;

struct Readers {
    recent: DefaultKeyedRateLimiter<IpAddr>,
    requests: AtomicUsize,
}

/// Limits the safe (read-only) requests of each address to `quota`, and answers further requests
/// with 429.
pub(crate) fn limit(router: Router, quota: Quota) -> Router {
    let readers = Readers { recent: RateLimiter::keyed(quota), requests: AtomicUsize::default() };
    router.layer(from_fn_with_state(Arc::new(readers), forward_or_refuse))
}

async fn forward_or_refuse(
    State(readers): State<Arc<Readers>>,
    request: Request,
    next: Next,
) -> Response {
    let from = if request.method().is_safe() {
        address(request.headers(), request.extensions())
    } else {
        None
    };
    if from.is_none_or(|from| readers.admit(from)) {
        return next.run(request).await;
    }
    Problem::too_many("too many requests from this address: try again in a minute").into_response()
}

impl Readers {
    fn admit(&self, from: IpAddr) -> bool {
        if self.requests.fetch_add(1, Ordering::Relaxed) % FORGET == FORGET - 1 {
            self.recent.retain_recent();
        }
        self.recent.check_key(&subscriber(from)).is_ok()
    }
}

/// Returns the address of the client, or `None` for a client on this machine. If a proxy on this
/// machine forwarded the request, returns the last address in `X-Forwarded-For`, which the proxy
/// added. The client could have forged earlier addresses.
fn address(headers: &HeaderMap, extensions: &Extensions) -> Option<IpAddr> {
    let ConnectInfo(peer) = extensions.get::<ConnectInfo<SocketAddr>>()?;
    let peer = peer.ip().to_canonical();
    if !peer.is_loopback() {
        return Some(peer);
    }
    let forwarded = headers.get_all("x-forwarded-for").iter().next_back()?;
    forwarded.to_str().ok()?.rsplit(',').next()?.trim().parse().ok()
}

/// Returns the part of an address that all addresses of one subscriber share: for IPv6, the upper
/// 64 bits.
fn subscriber(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::time::Duration;

    use axum::body::Body;
    use axum::http::{Method, StatusCode};
    use axum::routing::get;
    use tower::ServiceExt;

    use super::*;

    /// Returns the status of a request with `method` from `peer`, with `forwarded` in
    /// `X-Forwarded-For`.
    fn status(router: &Router, method: Method, peer: &str, forwarded: Option<&str>) -> StatusCode {
        let mut request = Request::builder().method(method).uri("/");
        if let Some(forwarded) = forwarded {
            request = request.header("x-forwarded-for", forwarded);
        }
        let peer: IpAddr = peer.parse().unwrap();
        let request = request.extension(ConnectInfo(SocketAddr::new(peer, 4711)));
        let request = request.body(Body::empty()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(router.clone().oneshot(request)).unwrap().status()
    }

    /// Returns a router that allows a burst of two requests, and then one request per day.
    fn router() -> Router {
        let quota = Quota::with_period(Duration::from_hours(24)).unwrap();
        let quota = quota.allow_burst(NonZeroU32::new(2).unwrap());
        limit(Router::new().route("/", get(|| async {}).post(|| async {})), quota)
    }

    // Requests that change something are exempt from this limit.
    #[test]
    fn each_address_has_its_own_limit() {
        let router = router();
        let ask = |method, peer| status(&router, method, peer, None);
        for peer in ["192.0.2.1", "192.0.2.2", "2001:db8::1"] {
            assert_eq!(ask(Method::GET, peer), StatusCode::OK);
            assert_eq!(ask(Method::HEAD, peer), StatusCode::OK);
            assert_eq!(ask(Method::GET, peer), StatusCode::TOO_MANY_REQUESTS);
            assert_eq!(ask(Method::POST, peer), StatusCode::OK);
        }
        // Other addresses of a subscriber that used up its limit: in the same IPv6 network, and in
        // another notation.
        assert_eq!(ask(Method::GET, "2001:db8::2"), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(ask(Method::GET, "::ffff:192.0.2.1"), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(ask(Method::GET, "2001:db8:0:1::1"), StatusCode::OK);
        for _ in 0..9 {
            assert_eq!(ask(Method::GET, "127.0.0.1"), StatusCode::OK);
        }
    }

    // A remote client could send any address in the header.
    #[test]
    fn only_a_proxy_on_this_machine_is_trusted() {
        let router = router();
        let ask = |peer: &str, forwarded: &str| status(&router, Method::GET, peer, Some(forwarded));
        for n in 0..3 {
            let status = if n < 2 { StatusCode::OK } else { StatusCode::TOO_MANY_REQUESTS };
            let invented = format!("198.51.100.{n}");
            assert_eq!(ask("127.0.0.1", &format!("{invented}, 192.0.2.1")), status);
            assert_eq!(ask("203.0.113.9", &invented), status);
        }
        assert_eq!(ask("::1", "192.0.2.2"), StatusCode::OK);
    }

    #[test]
    fn idle_addresses_are_dropped() {
        let quota = Quota::with_period(Duration::from_nanos(1)).unwrap();
        let readers =
            Readers { recent: RateLimiter::keyed(quota), requests: AtomicUsize::default() };
        for n in 0..2 * FORGET {
            readers.admit(IpAddr::from(u32::try_from(n).unwrap().to_be_bytes()));
        }
        assert!(readers.recent.len() <= FORGET, "{}", readers.recent.len());
    }
}
