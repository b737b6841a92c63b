//! Shows the activity of an attached drive: on the terminal, in a browser, to Prometheus, and in
//! `flashscope devices`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::anyhow;
use flashscope_attach::{Answer, AttachedDrive, Monitor, metrics};
use flashscope_serve::{Access, Attachment, attached, serve_beside};
use flashscope_status::StatusSocket;

use super::AttachArgs;
use crate::print::{self, notice};
use crate::progress::Line;
use crate::{Failure, runtime, usage};

/// The interval between samples.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// A display of the activity of a drive, which ends when it is dropped.
pub(super) struct Activity {
    monitor: Arc<Monitor>,
    address: Option<SocketAddr>,
    _status: Option<StatusSocket>,
    sampling: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Activity {
    /// Starts to show the activity. If only `flashscope devices` cannot show it, prints a notice
    /// instead of failing.
    pub(super) fn start<A: Answer>(
        args: &AttachArgs,
        drive: &Arc<AttachedDrive<A>>,
    ) -> Result<Activity, Failure> {
        let monitor = Arc::new(Monitor::new(drive));
        let address = args.listen.address.map(|address| listen(address, &monitor)).transpose()?;
        let folder = runtime::folder();
        let status = monitor.show(&folder).inspect_err(|error| {
            print::note(format_args!(
                "flashscope: `flashscope devices` will not show this drive: {error} ({})",
                folder.display()
            ));
        });
        let (stop, stopped) = channel::<()>();
        let sampled = Arc::clone(&monitor);
        let sample = move || {
            let line = Line::new();
            while stopped.recv_timeout(SAMPLE_EVERY) == Err(RecvTimeoutError::Timeout) {
                line.show(&sampled.sample().to_string());
            }
        };
        let thread = thread::Builder::new().name("samples".into()).spawn(sample)?;
        Ok(Activity { monitor, address, _status: status.ok(), sampling: Some((stop, thread)) })
    }

    /// Adds an address at which clients reach the drive.
    pub(super) fn attached_at(&self, place: &str) {
        self.monitor.attached_at(place);
    }

    /// Returns the address of the web page, if there is one.
    pub(super) fn page(&self) -> Option<String> {
        self.address.map(|address| format!("http://{address}/"))
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.sampling.take() {
            drop(stop);
            // A panic of the thread has already been printed.
            let _ = thread.join();
        }
    }
}

/// Serves browsers and Prometheus until the process ends. Returns the address.
fn listen(address: SocketAddr, monitor: &Arc<Monitor>) -> Result<SocketAddr, Failure> {
    if Access::of(&address) == Access::Network {
        notice!(
            "flashscope: everyone who can reach {address} sees the activity of the drive, without a password"
        );
    }
    let [live, metrics_source] = [Arc::clone(monitor), Arc::clone(monitor)];
    let attachment = Attachment {
        live: Box::new(move |after| live.status(after)),
        metrics: Box::new(move || metrics_source.metrics()),
        metrics_type: metrics::CONTENT_TYPE,
    };
    serve_beside(|access| attached(attachment, access), address).map_err(|error| {
        usage(anyhow!("cannot listen at {address}: {error}; choose another address with --listen"))
    })
}
