//! Those who are shown what an attached drive does: the terminal, a browser, Prometheus, and
//! `flashscope devices`.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::anyhow;
use flashscope_attach::{Answer, Attached, Monitor, Told, metrics};
use flashscope_serve::{Access, Attachment, attached};

use super::AttachArgs;
use crate::print::notice;
use crate::progress::Line;
use crate::{Failure, runtime, usage};

/// How often a sample is taken.
const EVERY: Duration = Duration::from_secs(1);

/// Shows what a drive does until it is dropped.
pub struct Watched {
    monitor: Arc<Monitor>,
    address: Option<SocketAddr>,
    _told: Option<Told>,
    sampling: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Watched {
    /// Begins to. What keeps `flashscope devices` from knowing is said, and is no failure.
    pub fn start<A: Answer>(
        args: &AttachArgs,
        drive: &Arc<Attached<A>>,
    ) -> Result<Watched, Failure> {
        let monitor = Arc::new(Monitor::new(drive));
        let address = args.listen.address.map(|address| listen(address, &monitor)).transpose()?;
        let folder = runtime::folder();
        let told = Told::start(&folder, Arc::clone(&monitor)).inspect_err(|error| {
            notice!(
                "flashscope: `flashscope devices` will not show this drive: {error} ({})",
                folder.display()
            );
        });
        let (stop, stopped) = channel::<()>();
        let sampled = Arc::clone(&monitor);
        let sample = move || {
            let line = Line::new();
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                line.show(&sampled.sample().to_string());
            }
        };
        let thread = thread::Builder::new().name("samples".into()).spawn(sample)?;
        Ok(Watched { monitor, address, _told: told.ok(), sampling: Some((stop, thread)) })
    }

    /// Clients find the drive at `place` from now on.
    pub fn attached_at(&self, place: &str) {
        self.monitor.attached_at(place);
    }

    /// Where a browser shows it, if it is to.
    pub fn page(&self) -> Option<String> {
        self.address.map(|address| format!("http://{address}/"))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.sampling.take() {
            drop(stop);
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// Answers browsers and Prometheus as long as the process lives; says where.
fn listen(address: SocketAddr, monitor: &Arc<Monitor>) -> Result<SocketAddr, Failure> {
    if Access::of(&address) == Access::Network {
        notice!(
            "flashscope: whoever reaches {address} sees what the drive does, without a password"
        );
    }
    let [shown, scraped] = [Arc::clone(monitor), Arc::clone(monitor)];
    let attachment = Attachment {
        live: Box::new(move |after| shown.live(after)),
        metrics: Box::new(move || scraped.metrics()),
        metrics_type: metrics::CONTENT_TYPE,
    };
    let (tell, told) = channel();
    let answer = move || {
        let ready = {
            let tell = tell.clone();
            move |address| drop(tell.send(Ok(address)))
        };
        let make = async |access| Ok(attached(attachment, access));
        let served: io::Result<()> = flashscope_serve::serve(make, address, ready);
        let _ = served.map_err(|error| tell.send(Err(error)));
    };
    thread::Builder::new().name("listens".into()).spawn(answer)?;
    let address_taken = told.recv().unwrap_or_else(|_| Err(io::Error::other("it did not begin")));
    address_taken.map_err(|error| {
        usage(anyhow!("cannot answer at {address}: {error}; choose another address with --listen"))
    })
}
