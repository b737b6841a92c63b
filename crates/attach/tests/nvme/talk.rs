//! Generated conversations of hosts and checks of their results, shared with the fuzz target
//! `nvme`.

use std::sync::Arc;

use flashscope_attach::Export;
use flashscope_attach::nvme::{
    Action, Commands, Completion, Event, Link, Plan, Queue, Session, Subsystem, SubsystemOptions,
};
use flashscope_block::{Bytes, Op, PlacementLimits, ZoneLimits};

/// The maximum number of unprocessed bytes between two calls: a header with its padding.
const MAX_UNPROCESSED: usize = 512;

/// The size of a small drive, in which random ranges are sometimes valid.
const SIZE: Bytes = Bytes(256 * 1024);

/// The size of a zone of that drive, if it has any.
const ZONE: Bytes = Bytes(16 * 1024);

/// The maximum number of bytes that a command moves, as the drive states it.
const MAX_TRANSFER: u64 = 1 << 20;

const NQN: &str = "nqn.2026-11.org.example:fuzz";

/// A stub for a connection.
struct NoLink;

impl Link for NoLink {
    fn complete(&self, _: Completion) {}
    fn disconnect(&self) {}
}

/// Encodes a command capsule.
pub(crate) fn capsule(entry: &[u8; 64], data: &[u8]) -> Vec<u8> {
    let offset = if data.is_empty() { 0 } else { 72 };
    let mut bytes = vec![4, 0, 72, offset];
    bytes.extend(u32::try_from(72 + data.len()).unwrap().to_le_bytes());
    bytes.extend(entry);
    bytes.extend(data);
    bytes
}

fn entry(opcode: u8, id: u16, namespace: u32) -> [u8; 64] {
    let mut entry = [0; 64];
    entry[0] = opcode;
    entry[1] = 0x40;
    entry[2..4].copy_from_slice(&id.to_le_bytes());
    entry[4..8].copy_from_slice(&namespace.to_le_bytes());
    entry
}

fn put(entry: &mut [u8; 64], at: usize, value: u32) {
    entry[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn connect(id: u16, queue: u16, controller: u16) -> Vec<u8> {
    let mut command = entry(0x7f, id, 1);
    command[42..44].copy_from_slice(&queue.to_le_bytes());
    command[44] = 31;
    put(&mut command, 32, 1024);
    command[39] = 1;
    let mut data = vec![0; 1024];
    data[16..18].copy_from_slice(&controller.to_le_bytes());
    data[256..256 + NQN.len()].copy_from_slice(NQN.as_bytes());
    data[512..519].copy_from_slice(b"nqn.x:y");
    capsule(&command, &data)
}

/// Returns true if the drive has zones.
fn is_zoned(kind: u8) -> bool {
    kind & 4 == 4
}

/// Returns true if the drive has reclaim unit handles.
fn has_handles(kind: u8) -> bool {
    kind & 12 == 8
}

/// Returns true if two namespaces divide the drive.
fn is_divided(kind: u8) -> bool {
    kind & 28 == 16
}

/// Returns the configuration that enables a controller of the drive.
fn enabled(kind: u8) -> u32 {
    1 | if is_zoned(kind) { 6 << 4 } else { 0 } | 6 << 16 | 4 << 20
}

/// Generates a nearly valid conversation: a connection, commands, data, and a few changes. `below`
/// returns a random number below its argument.
pub(crate) fn conversation(below: &mut dyn FnMut(usize) -> usize) -> Vec<u8> {
    let small = |number: usize| u8::try_from(number).unwrap();
    // The properties of the drive, and the kind of the queue.
    let mut bytes = vec![small(below(32))];
    let enabled = enabled(bytes[0]);
    let is_admin = bytes[0] & 2 == 0;
    let mut request = vec![0; 128];
    request[2] = 128;
    request[4] = 128;
    request[10] = [0, 0, 3][below(3)];
    bytes.extend(request);
    bytes.extend(connect(1, u16::from(!is_admin), if is_admin { u16::MAX } else { 1 }));
    if is_admin {
        let mut enable = entry(0x7f, 2, 0);
        put(&mut enable, 44, 0x14);
        put(&mut enable, 48, enabled);
        bytes.extend(capsule(&enable, &[]));
    }
    for number in 0..below(16) {
        let id = u16::try_from(number % 13 + 3).unwrap();
        let admin = [0x02, 0x06, 0x06, 0x09, 0x0a, 0x0c, 0x18, 0x80, 0x08, 0x7f, 0x19, 0x1a];
        let io = [0x00, 0x01, 0x01, 0x02, 0x05, 0x08, 0x08, 0x09, 0x0c, 0x19, 0x12, 0x1d];
        let zoned = [0x01, 0x02, 0x19, 0x79, 0x79, 0x79, 0x7a, 0x7a, 0x7d, 0x7d, 0x08, 0x0c];
        let opcode = match (is_admin, is_zoned(bytes[0])) {
            (true, _) => admin,
            (false, false) => io,
            (false, true) => zoned,
        }[below(12)];
        let other = if is_divided(bytes[0]) { 2 } else { 1 };
        let namespace = [1, other, other, 0][below(4)];
        let mut command = entry(opcode, id, namespace);
        let blocks = [1, 2, 8, 40, 256, 513, 4096][below(7)];
        put(&mut command, 40, u32::try_from([0, 1, 2, 5, 32, 96, 511, 512][below(8)]).unwrap());
        // `option` is nothing, `special`, or forced unit access. `special` depends on the
        // drive and the opcode: the placement directive, protection information, or deallocation.
        let special = match (has_handles(bytes[0]), opcode) {
            (true, _) => 2 << 20,
            // An append has no such option.
            (false, 0x7d) => 0,
            // The drive inserts and strips protection information.
            _ if namespace == 2 => 1 << 29,
            (false, _) => 1 << 25,
        };
        let option = [0, special, special, 1 << 30][below(4)];
        let block = match (namespace, option) {
            (2, 0x2000_0000) => 4096,
            (2, _) => 4104,
            _ => 512,
        };
        put(&mut command, 48, u32::try_from(blocks - 1).unwrap() | option);
        // An action on zones, for one zone or for all of them.
        let action = [1, 2, 3, 4, 4, 5, 0x10, 0][below(8)] | [0, 0, 1, 5][below(4)] << 8;
        put(&mut command, 52, u32::try_from(action).unwrap());
        // A placement identifier, and the number of handles to update.
        command[54] = small(below(4));
        if opcode == 0x1d || opcode == 0x12 {
            put(&mut command, 40, 1 | u32::try_from(below(3)).unwrap() << 16);
            put(&mut command, 44, 127);
        }
        // A report of zones has no options except its length and the state.
        if opcode == 0x7a {
            put(&mut command, 48, u32::try_from(blocks - 1).unwrap());
            command[52] = 0;
        }
        let fits = match opcode {
            0x7a => 4 * blocks,
            0x1d => 2 * (usize::from(command[42]) + 1),
            0x09 => 16 * (usize::from(command[40]) + 1),
            0x19 => 32 * (usize::from(command[48]) + 1),
            _ => blocks * block,
        };
        let len = [fits, fits, 512, 4096, 16, 32][below(6)];
        put(&mut command, 32, u32::try_from(len).unwrap());
        // Zeros are valid ranges for copies.
        let fill = small([0, below(256)][below(2)]);
        match below(3) {
            0 => {
                command[39] = 1;
                let len = len.min(16 * 1024);
                bytes.extend(capsule(&command, &vec![fill; len]));
            }
            _ => {
                command[39] = 0x5a;
                bytes.extend(capsule(&command, &[]));
                // Mostly, data follow only if they are requested.
                if opcode & 3 != 1 && below(8) > 0 {
                    continue;
                }
                let piece = len.min([128 * 1024, 4096][below(2)]);
                bytes.extend([6, if below(4) > 0 { 4 } else { 0 }, 24, 24]);
                bytes.extend(u32::try_from(24 + piece).unwrap().to_le_bytes());
                bytes.extend(id.to_le_bytes());
                bytes.extend(id.to_le_bytes());
                bytes.extend([0; 4]);
                bytes.extend(u32::try_from(piece).unwrap().to_le_bytes());
                bytes.extend([0; 4]);
                bytes.extend(std::iter::repeat_n(fill, piece));
            }
        }
    }
    for _ in 0..below(4) {
        let at = below(bytes.len() + 1);
        let end = (at + below(6)).min(bytes.len());
        let with: Vec<u8> = (0..below(6)).map(|_| small(below(256))).collect();
        bytes.splice(at..end, with);
    }
    bytes
}

/// The result of a conversation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The consequence of each command.
    pub actions: Vec<String>,
    /// The bytes sent to the host by the transport.
    pub output: Vec<u8>,
    /// The reason why the connection ended, if it did.
    pub end: Option<String>,
}

/// Runs a session with a host that sends `bytes`, first in one piece and then in several. The first
/// byte selects the drive's properties. Checks that the results are equal and all requests valid.
pub(crate) fn talk(bytes: &[u8]) -> Outcome {
    let (&kind, input_bytes) = bytes.split_first().unwrap_or((&0, &[]));
    let whole = listen(kind, input_bytes, usize::MAX);
    for step in [1 + usize::from(kind), 4099] {
        let pieces = listen(kind, input_bytes, step);
        assert_eq!(whole, pieces, "in pieces of {step}");
    }
    whole
}

/// Creates the subsystem and an admin queue. For a conversation of an I/O queue, connects the admin
/// queue and enables its controller.
fn subsystem(kind: u8) -> (Arc<Subsystem>, Queue) {
    let trims = kind & 1 == 0;
    let logical_block = Bytes(512);
    let limits = ZoneLimits { zones: 16, size: ZONE, capacity: ZONE, open: 2, active: 3 };
    let zones = is_zoned(kind).then_some(limits);
    let limits = PlacementLimits { handles: 3, is_persistent: false, unit: ZONE };
    let handles = has_handles(kind).then_some(limits);
    let fixed = Export::new("fixed", (SIZE, logical_block));
    let export = Export { trims, zones, handles, keeps_metadata: true, ..fixed };
    let namespaces = if is_divided(kind) { vec!["128KiB", "64KiB,lba=4096,pi=1"] } else { vec![] };
    let namespaces = namespaces.into_iter().map(|text| text.parse().unwrap()).collect();
    let nqn = Some(NQN.parse().unwrap());
    let options = SubsystemOptions { nqn, namespaces, ..SubsystemOptions::default() };
    let address = "127.0.0.1:4420".parse().unwrap();
    let subsystem = Subsystem::new(&export, &options, address, Box::new(|| None));
    let subsystem = Arc::new(subsystem.unwrap());
    let mut queue = Queue::new(Arc::clone(&subsystem), Arc::new(NoLink), Arc::default());
    if kind & 2 == 2 {
        let mut bytes = vec![0; 128];
        (bytes[2], bytes[4]) = (128, 128);
        bytes.extend(connect(1, 0, u16::MAX));
        let mut enable = entry(0x7f, 2, 0);
        put(&mut enable, 44, 0x14);
        put(&mut enable, 48, enabled(kind));
        bytes.extend(capsule(&enable, &[]));
        let commands = Arc::default();
        queue = Queue::new(Arc::clone(&subsystem), Arc::new(NoLink), Arc::clone(&commands));
        let mut outcome = Outcome { actions: Vec::new(), output: Vec::new(), end: None };
        outcome.run(&mut Session::new(), &mut queue, &commands, &mut &bytes[..]);
        assert_eq!(outcome.actions.len(), 2, "{outcome:?}");
    }
    (subsystem, queue)
}

fn listen(kind: u8, input_bytes: &[u8], step: usize) -> Outcome {
    // The admin queue, which keeps its controller alive.
    let (subsystem, _admin) = subsystem(kind);
    let commands = Arc::<Commands>::default();
    let mut queue = Queue::new(subsystem, Arc::new(NoLink), Arc::clone(&commands));
    let mut outcome = Outcome { actions: Vec::new(), output: Vec::new(), end: None };
    let mut session = Session::new();
    let mut kept = Vec::new();
    for piece in input_bytes.chunks(step) {
        kept.extend_from_slice(piece);
        let mut input = &kept[..];
        outcome.run(&mut session, &mut queue, &commands, &mut input);
        assert!(
            input.len() <= MAX_UNPROCESSED || outcome.end.is_some(),
            "{} are left",
            input.len()
        );
        let left = input.len();
        kept.drain(..kept.len() - left);
    }
    // The output has at most ICResp, a request for data for each command, and a termination
    // request.
    assert!(outcome.output.len() <= 128 + 24 * input_bytes.len() / 72 + 152 + 24);
    queue.close();
    outcome
}

impl Outcome {
    fn run(
        &mut self,
        session: &mut Session,
        queue: &mut Queue,
        commands: &Commands,
        input: &mut &[u8],
    ) {
        while self.end.is_none() {
            let event = session.next(input, &mut self.output, &mut |command| queue.admit(command));
            match event {
                Ok(None) => return,
                Ok(Some(Event::Begin(_))) => {}
                Ok(Some(Event::End)) => self.end = Some("the host".into()),
                Ok(Some(Event::Refused(command, status))) => {
                    self.actions.push(format!("refused {status:?}"));
                    // A conflict leaves the first command open.
                    if !format!("{status:?}").contains("code: 3,") {
                        commands.release(command.id());
                    }
                }
                Ok(Some(Event::Command(command, data))) => {
                    assert!(data.len() as u64 <= MAX_TRANSFER, "{} bytes", data.len());
                    let action = queue.execute(&command, data);
                    check(&action);
                    // An event request stays open.
                    if action != Action::Hold {
                        commands.release(command.id());
                    }
                    self.actions.push(format!("{action:?}"));
                }
                Err(fatal) => self.end = Some(fatal.to_string()),
            }
        }
    }
}

/// Checks that the requests of an action are valid.
fn check(action: &Action) {
    match action {
        Action::Reply(_, data) => assert!(data.len() as u64 <= MAX_TRANSFER),
        Action::Submit(Plan::One(request, _)) => check_request(request, 8 * MAX_TRANSFER),
        Action::Submit(Plan::DurableRead(request, _)) => check_request(request, MAX_TRANSFER),
        Action::Submit(Plan::ResetZones(request)) => check_request(request, u64::MAX),
        Action::Submit(Plan::All(requests)) => {
            assert!(requests.len() <= 256);
            requests.iter().for_each(|request| check_request(request, u64::MAX));
        }
        Action::Submit(Plan::Copy { reads, to, .. }) => {
            reads.iter().for_each(|request| check_request(request, MAX_TRANSFER));
            let len: u64 = reads.iter().map(|request| request.len.0).sum();
            assert!(len <= MAX_TRANSFER && to.0 + len <= SIZE.0, "{action:?}");
        }
        Action::Submit(Plan::Erase(_) | Plan::ShutDown | Plan::Zones(_) | Plan::Placement(_))
        | Action::Hold
        | Action::End(_) => {}
    }
}

fn check_request(request: &flashscope_attach::Request, longest: u64) {
    let (offset, len) = (request.offset, request.len);
    assert!(offset.0.checked_add(len.0).is_some_and(|end| end <= SIZE.0), "{request:?}");
    assert_eq!(len.0 == 0, request.op == Op::Flush, "{request:?}");
    assert!(len.0 <= longest, "{request:?}");
    let data = request.data.len() as u64;
    assert!(data == 0 || (request.op == Op::Write && data == len.0), "{request:?}");
    let fits = request.offset.is_multiple_of(ZONE) && len <= ZONE;
    assert!(!request.appends || (fits && data == len.0), "{request:?}");
}
