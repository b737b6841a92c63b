use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use flashscope_block::{Flash, Nanos};
use flashscope_document::environment::Health;
use flashscope_drive::Clock;
use sha2::{Digest, Sha256};

use super::controller::{Controller, Host, Kind};
use super::namespace::Namespace;
use super::namespaces::{NamespaceError, NamespaceOptions, Namespaces};
use super::status::Status;
use crate::attached::Export;
use crate::health::health;
use crate::lock;
use crate::statistics::Snapshot;

/// The version of the base specification, 2.1.
pub(super) const VERSION: u32 = 0x0002_0100;

/// The maximum number of controllers; each connected admin queue has one.
const CONTROLLERS: usize = 32;

/// The maximum length of an NVMe qualified name in bytes.
const LONGEST_NQN: usize = 223;

/// Returns the counters and the state of the drive, if there is one.
pub type SnapshotSource = Box<dyn Fn() -> Option<Snapshot> + Send + Sync>;

/// The name of a subsystem, the hosts that may use it, and its namespaces.
#[derive(Debug, Clone, Default)]
pub struct SubsystemOptions {
    /// The NVMe qualified name (NQN); `None` for one derived from the drive and the address.
    pub nqn: Option<Nqn>,
    /// The hosts that may connect; all if empty.
    pub hosts: Vec<Nqn>,
    /// The namespaces that divide the drive; if empty, one namespace contains the whole drive.
    pub namespaces: Vec<NamespaceOptions>,
}

/// An NVMe qualified name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nqn(String);

/// The error for a text that is not an [`Nqn`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "an NVMe qualified name is `nqn.YYYY-MM.DOMAIN:NAME` with at most {LONGEST_NQN} bytes, such as \
     nqn.2014-08.org.nvmexpress:uuid:00000000-0000-4000-8000-000000000000"
)]
pub struct ParseNqnError;

impl std::str::FromStr for Nqn {
    type Err = ParseNqnError;

    fn from_str(text: &str) -> Result<Nqn, ParseNqnError> {
        let date = text.strip_prefix("nqn.").and_then(|rest| rest.split_once('.'));
        let has_date = date.is_some_and(|(date, name)| {
            let digits =
                |text: &str, len| text.len() == len && text.bytes().all(|b| b.is_ascii_digit());
            date.split_once('-').is_some_and(|(year, month)| digits(year, 4) && digits(month, 2))
                && name
                    .split_once(':')
                    .is_some_and(|(domain, rest)| !domain.is_empty() && !rest.is_empty())
        });
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        match has_date && is_plain && text.len() <= LONGEST_NQN && text != super::DISCOVERY_NQN {
            true => Ok(Nqn(text.into())),
            false => Err(ParseNqnError),
        }
    }
}

/// The drive as an NVM subsystem with its namespaces, and the discovery subsystem.
pub struct Subsystem {
    nqn: String,
    serial: String,
    model: String,
    uuid: [u8; 16],
    hosts: Vec<Nqn>,
    address: SocketAddr,
    namespaces: Namespaces,
    controllers: Mutex<BTreeMap<u16, Arc<Controller>>>,
    source: SnapshotSource,
    clock: Clock,
}

impl Subsystem {
    /// Creates the subsystem of a drive that listens at `address`.
    ///
    /// # Errors
    /// Returns an error if the drive cannot be divided into the namespaces.
    pub fn new(
        export: &Export,
        options: &SubsystemOptions,
        address: SocketAddr,
        source: SnapshotSource,
    ) -> Result<Subsystem, NamespaceError> {
        let seed = match &options.nqn {
            Some(nqn) => nqn.0.clone(),
            None => format!("{} {} {address}", export.name, export.size.0),
        };
        let uuid = uuid(&seed);
        let nqn = match &options.nqn {
            Some(nqn) => nqn.0.clone(),
            None => format!("nqn.2014-08.org.nvmexpress:uuid:{}", text_of(&uuid)),
        };
        Ok(Subsystem {
            nqn,
            serial: text_of(&uuid).replace('-', "")[..20].to_uppercase(),
            model: format!("flashscope {}", export.name),
            uuid,
            hosts: options.hosts.clone(),
            address,
            namespaces: Namespaces::new(export, &options.namespaces)?,
            controllers: Mutex::default(),
            source,
            clock: Clock::new(),
        })
    }

    /// Returns the NVMe qualified name.
    pub fn nqn(&self) -> &str {
        &self.nqn
    }

    pub(super) fn serial(&self) -> &str {
        &self.serial
    }

    pub(super) fn model(&self) -> &str {
        &self.model
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the UUID of a namespace. The UUID of a part of the drive depends on its range,
    /// because a store that is attached with namespaces of other sizes has other data in each
    /// namespace.
    pub(super) fn uuid(&self, space: &Namespace) -> [u8; 16] {
        let (start, size) = (space.start(), space.size());
        match size == self.namespaces.capacity() {
            true => self.uuid,
            false => uuid(&format!("{} {} {}", text_of(&self.uuid), start.0, size.0)),
        }
    }

    /// Returns the globally unique identifier of a namespace.
    pub(super) fn guid(&self, space: &Namespace) -> [u8; 16] {
        // A separate hash, because some bits of the UUID have a meaning.
        first_bytes(&Sha256::digest([&self.uuid(space)[..], b"nguid"].concat()))
    }

    /// Returns the first namespace.
    pub fn namespace(&self) -> &Namespace {
        self.namespaces.first()
    }

    pub(super) fn namespaces(&self) -> &Namespaces {
        &self.namespaces
    }

    pub(super) fn health(&self) -> Option<Health> {
        (self.source)().and_then(|snapshot| health(&snapshot))
    }

    /// Returns the state of the flash, if the drive reports it.
    pub(super) fn flash(&self) -> Option<Flash> {
        (self.source)().and_then(|snapshot| snapshot.flash)
    }

    pub(super) fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// Returns true if a host may connect.
    pub(super) fn allows(&self, host: &str) -> bool {
        self.hosts.is_empty() || self.hosts.iter().any(|allowed| allowed.0 == host)
    }

    /// Creates a controller for a host, with the first free identifier.
    pub(super) fn create(
        &self,
        kind: Kind,
        host: Host,
        keep_alive_ms: u32,
    ) -> Result<Arc<Controller>, Status> {
        let mut controllers = lock(&self.controllers);
        if controllers.len() == CONTROLLERS {
            return Err(Status::CONNECT_CONTROLLER_BUSY);
        }
        let id = (1..).find(|id| !controllers.contains_key(id)).expect("few controllers exist");
        let controller = Controller::new(
            id,
            (kind, self.namespace().command_set()),
            host,
            keep_alive_ms,
            self.now(),
        );
        let controller = Arc::new(controller);
        controllers.insert(id, Arc::clone(&controller));
        Ok(controller)
    }

    pub(super) fn controller(&self, id: u16) -> Option<Arc<Controller>> {
        lock(&self.controllers).get(&id).cloned()
    }

    /// Removes a controller whose admin queue has ended, and ends its other queues.
    pub(super) fn remove(&self, controller: &Controller) {
        lock(&self.controllers).remove(&controller.id());
        controller.disconnect_all();
    }

    /// Ends the controllers whose hosts have been silent for longer than their keep-alive timeout.
    pub(crate) fn end_silent(&self) {
        let now = self.now();
        for controller in self.all() {
            if controller.is_silent(now) {
                controller.disconnect_all();
            }
        }
    }

    /// Reports to all hosts that namespaces have changed.
    pub(super) fn namespaces_changed(&self, namespaces: &[u32]) {
        for controller in self.all() {
            controller.namespaces_changed(namespaces);
        }
    }

    /// Reports to all hosts that a sanitize operation has ended.
    pub(super) fn sanitized(&self) {
        for controller in self.all() {
            controller.sanitized();
        }
    }

    fn all(&self) -> Vec<Arc<Controller>> {
        lock(&self.controllers).values().cloned().collect()
    }
}

fn first_bytes(bytes: &[u8]) -> [u8; 16] {
    bytes[..16].try_into().expect("a hash is longer")
}

/// Returns a UUID of version 8 (RFC 9562, section 5.8), which depends only on `seed`.
fn uuid(seed: &str) -> [u8; 16] {
    let mut uuid = first_bytes(&Sha256::digest(seed));
    uuid[6] = uuid[6] & 0x0F | 0x80;
    uuid[8] = uuid[8] & 0x3F | 0x80;
    uuid
}

fn text_of(uuid: &[u8; 16]) -> String {
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use flashscope_block::Bytes;

    use super::*;

    // Names of the two forms of the specification are accepted; the discovery subsystem's name and
    // other texts are not.
    #[test]
    fn qualified_names_parse() {
        for name in ["nqn.2026-11.org.example:a", "nqn.2014-08.org.nvmexpress:uuid:1"] {
            assert_eq!(name.parse(), Ok(Nqn(name.into())));
        }
        let long = format!("nqn.2026-11.org.example:{}", "a".repeat(200));
        for wrong in [
            "",
            "nqn",
            "nqn.2026.org:a",
            "nqn.2026-11.org.example",
            "nqn.2026-11.org: a",
            &long,
            super::super::DISCOVERY_NQN,
        ] {
            assert_eq!(wrong.parse::<Nqn>(), Err(ParseNqnError), "{wrong}");
        }
    }

    // The same part of a drive has the same identifiers, and no other part has them. The
    // identifiers of a whole drive do not depend on namespaces.
    #[test]
    fn identifiers_depend_on_the_place_of_a_namespace() {
        let identifiers = |sizes: &[&str]| {
            let export = Export::new("drive", (Bytes::mib(8), Bytes(512)));
            let namespaces = sizes.iter().map(|size| size.parse().unwrap()).collect();
            let nqn = Some("nqn.2026-11.org.example:a".parse().unwrap());
            let options = SubsystemOptions { nqn, namespaces, ..SubsystemOptions::default() };
            let address = "127.0.0.1:4420".parse().unwrap();
            let subsystem = Subsystem::new(&export, &options, address, Box::new(|| None)).unwrap();
            let all = subsystem.namespaces().all().iter();
            all.map(|space| (subsystem.uuid(space), subsystem.guid(space))).collect::<Vec<_>>()
        };
        let parts = identifiers(&["6MiB", "1MiB"]);
        assert_eq!(parts, identifiers(&["6MiB", "1MiB,lba=4096"]));
        let exchanged = identifiers(&["1MiB", "6MiB"]);
        let whole = identifiers(&[]);
        assert_eq!(whole, identifiers(&["8MiB"]));
        let all = [parts, exchanged, whole].concat();
        let uuids: BTreeSet<_> = all.iter().map(|(uuid, _)| *uuid).collect();
        let guids: BTreeSet<_> = all.iter().map(|(_, guid)| *guid).collect();
        assert_eq!((uuids.len(), guids.len()), (5, 5));
    }
}
