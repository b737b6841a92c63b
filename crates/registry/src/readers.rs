//! How much an address may ask of a registry. What changes something takes a token, which has a limit of its
//! own; looking takes none.

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

/// After so many questions, addresses that ask no more are forgotten.
const FORGET: usize = 4096;

struct Readers {
    asked: DefaultKeyedRateLimiter<IpAddr>,
    questions: AtomicUsize,
}

/// Lets each address ask `router` as often as `quota` says, and refuses the rest with 429.
pub(crate) fn limited(router: Router, quota: Quota) -> Router {
    let readers = Readers { asked: RateLimiter::keyed(quota), questions: AtomicUsize::default() };
    router.layer(from_fn_with_state(Arc::new(readers), admitted))
}

async fn admitted(State(readers): State<Arc<Readers>>, request: Request, next: Next) -> Response {
    let from = if request.method().is_safe() {
        address(request.headers(), request.extensions())
    } else {
        None
    };
    if from.is_none_or(|from| readers.admit(from)) {
        return next.run(request).await;
    }
    Problem::too_many("this address asks too much at once: ask again in a while").into_response()
}

impl Readers {
    fn admit(&self, from: IpAddr) -> bool {
        if self.questions.fetch_add(1, Ordering::Relaxed) % FORGET == FORGET - 1 {
            self.asked.retain_recent();
        }
        self.asked.check_key(&subscriber(from)).is_ok()
    }
}

/// Where a request is from; none where it is from this machine itself. What a proxy on this machine says of
/// where it has it from is believed: the last one that it names, as the others are what the client says.
fn address(headers: &HeaderMap, extensions: &Extensions) -> Option<IpAddr> {
    let ConnectInfo(peer) = extensions.get::<ConnectInfo<SocketAddr>>()?;
    let peer = peer.ip().to_canonical();
    if !peer.is_loopback() {
        return Some(peer);
    }
    let forwarded = headers.get_all("x-forwarded-for").iter().next_back()?;
    forwarded.to_str().ok()?.rsplit(',').next()?.trim().parse().ok()
}

/// All addresses that one subscriber has: of IPv6, 2⁶⁴.
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

    /// What is answered to `method` from `peer`, which has it from `forwarded`.
    fn ask(router: &Router, method: Method, peer: &str, forwarded: Option<&str>) -> StatusCode {
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

    /// Two questions at once, and one more after a day.
    fn router() -> Router {
        let quota = Quota::with_period(Duration::from_hours(24)).unwrap();
        let quota = quota.allow_burst(NonZeroU32::new(2).unwrap());
        limited(Router::new().route("/", get(|| async {}).post(|| async {})), quota)
    }

    // Is an address refused that asks too often, and no other, and nothing that takes a token?
    #[test]
    fn each_address_has_its_limit() {
        let router = router();
        let ask = |method, peer| ask(&router, method, peer, None);
        for peer in ["192.0.2.1", "192.0.2.2", "2001:db8::1"] {
            assert_eq!(ask(Method::GET, peer), StatusCode::OK);
            assert_eq!(ask(Method::HEAD, peer), StatusCode::OK);
            assert_eq!(ask(Method::GET, peer), StatusCode::TOO_MANY_REQUESTS);
            assert_eq!(ask(Method::POST, peer), StatusCode::OK);
        }
        // The same subscriber, and the same address written otherwise.
        assert_eq!(ask(Method::GET, "2001:db8::2"), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(ask(Method::GET, "::ffff:192.0.2.1"), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(ask(Method::GET, "2001:db8:0:1::1"), StatusCode::OK);
        for _ in 0..9 {
            assert_eq!(ask(Method::GET, "127.0.0.1"), StatusCode::OK);
        }
    }

    // Is a proxy on this machine believed, and nobody else, who could name any address?
    #[test]
    fn a_proxy_is_believed_on_this_machine_alone() {
        let router = router();
        let ask = |peer: &str, forwarded: &str| ask(&router, Method::GET, peer, Some(forwarded));
        for n in 0..3 {
            let status = if n < 2 { StatusCode::OK } else { StatusCode::TOO_MANY_REQUESTS };
            let invented = format!("198.51.100.{n}");
            assert_eq!(ask("127.0.0.1", &format!("{invented}, 192.0.2.1")), status);
            assert_eq!(ask("203.0.113.9", &invented), status);
        }
        assert_eq!(ask("::1", "192.0.2.2"), StatusCode::OK);
    }

    // Are those forgotten who ask no more?
    #[test]
    fn addresses_are_forgotten() {
        let quota = Quota::with_period(Duration::from_nanos(1)).unwrap();
        let readers =
            Readers { asked: RateLimiter::keyed(quota), questions: AtomicUsize::default() };
        for n in 0..2 * FORGET {
            readers.admit(IpAddr::from(u32::try_from(n).unwrap().to_be_bytes()));
        }
        assert!(readers.asked.len() <= FORGET, "{}", readers.asked.len());
    }
}
