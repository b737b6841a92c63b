#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "/dev/ublkcN: the device that the kernel made for this process"
    )
)]
#![allow(unsafe_code, reason = "requests of the kernel in memory that it shares")]

use std::fs::{File, OpenOptions};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use flashscope_block::{Bytes, Errno, Op};
use io_uring::{IoUring, opcode, types};
use rustix::event::{EventfdFlags, eventfd};

use super::uapi::{self, Description, MAX_IO, QUEUE_DEPTH};
use super::{Error, failed};
use crate::{Answer, Answered, Asked, Attached, Request, lock};

/// Where the answer to a request of the kernel goes.
pub struct To {
    tag: u16,
    done: Arc<Done>,
}

/// What is answered and the kernel was not told yet.
struct Done {
    answers: Mutex<Vec<Answered<To>>>,
    /// Whether the thread of the queue will look at the answers without being woken.
    awake: AtomicBool,
    event: OwnedFd,
}

impl Answer for To {
    fn answer(done: &mut Vec<Answered<To>>) {
        let Some(first) = done.first() else { return };
        let to = Arc::clone(&first.to.done);
        lock(&to.answers).append(done);
        if !to.awake.swap(true, Ordering::SeqCst) {
            to.wake();
        }
    }
}

impl Done {
    fn new() -> io::Result<Done> {
        let event = eventfd(0, EventfdFlags::CLOEXEC)?;
        Ok(Done { answers: Mutex::default(), awake: AtomicBool::new(true), event })
    }

    fn wake(&self) {
        // It fails only where it would wake anyway.
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }
}

/// The requests of one block device. The kernel demands that one thread gives all commands.
pub(super) struct Queue {
    file: File,
    drive: Arc<Attached<To>>,
    descriptions: Descriptions,
    /// The data of the request of each tag, which the kernel fills and empties. It is given back only once the kernel
    /// has no command any more.
    buffers: ManuallyDrop<Box<[u8]>>,
    done: Arc<Done>,
}

/// What the kernel asks for, by tag: memory that it shares.
struct Descriptions(NonNull<Description>);

// SAFETY: only the thread of the queue reads it, wherever that is started.
unsafe impl Send for Descriptions {}

/// Bytes of the memory that the kernel shares.
const SHARED: usize = (QUEUE_DEPTH as usize * size_of::<Description>()).next_multiple_of(4096);

impl Descriptions {
    fn map(file: &File) -> io::Result<Descriptions> {
        let (protection, flags) = (libc::PROT_READ, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: asks for new memory; no existing mapping is touched.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), SHARED, protection, flags, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Descriptions(NonNull::new(start.cast()).expect("mmap never answers null")))
    }

    fn get(&self, tag: u16) -> Description {
        assert!(tag < QUEUE_DEPTH);
        // SAFETY: within the mapping; the kernel writes it before it hands over the request, and
        // not again before that is answered.
        unsafe { self.0.add(tag.into()).read_volatile() }
    }
}

impl Drop for Descriptions {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what was mapped.
        unsafe { libc::munmap(self.0.as_ptr().cast(), SHARED) };
    }
}

/// What wakes the thread of the queue; other commands are known by their tags.
const WOKEN: u64 = u64::MAX;

impl Queue {
    pub(super) fn open(id: u32, drive: Arc<Attached<To>>) -> Result<Queue, Error> {
        let path = format!("/dev/ublkc{id}");
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file = file.map_err(failed("open the requests of the block device"))?;
        let descriptions =
            Descriptions::map(&file).map_err(failed("share memory with the kernel"))?;
        let buffers = vec![0; usize::from(QUEUE_DEPTH) * MAX_IO as usize].into_boxed_slice();
        let done = Arc::new(Done::new().map_err(failed("make an eventfd"))?);
        Ok(Queue { file, drive, descriptions, buffers: ManuallyDrop::new(buffers), done })
    }

    /// Serves requests until the device is stopped. Once the kernel has been asked for the first ones,
    /// this says so.
    pub(super) fn run(mut self, fetching: impl FnOnce()) -> Result<(), Error> {
        let ring = IoUring::builder().setup_single_issuer().build(2 * u32::from(QUEUE_DEPTH));
        let mut ring = ring.map_err(failed("make an io_uring"))?;
        // An answer may wake this thread when it is gone: what the kernel writes then stays.
        let woken = Box::leak(Box::new(0));
        self.serve(&mut ring, woken, fetching)?;
        // No command is left. Where one is, as after an error, the kernel may still use the buffers, and keeps them.
        drop(ring);
        let Queue { buffers, .. } = self;
        drop(ManuallyDrop::into_inner(buffers));
        Ok(())
    }

    fn serve(
        &mut self,
        ring: &mut IoUring,
        woken: *mut u64,
        fetching: impl FnOnce(),
    ) -> Result<(), Error> {
        self.listen(ring, woken);
        for tag in 0..QUEUE_DEPTH {
            self.fetch(ring, uapi::FETCH_REQ, tag, 0);
        }
        ring.submit().map_err(failed("ask for requests"))?;
        fetching();
        let (mut open, mut batch) = (QUEUE_DEPTH, Vec::new());
        while open > 0 {
            self.wait(ring)?;
            let arrived: Vec<(u64, i32)> =
                ring.completion().map(|entry| (entry.user_data(), entry.result())).collect();
            for (which, result) in arrived {
                match u16::try_from(which) {
                    Ok(tag) if result == 0 => batch.push(self.request(tag)),
                    Ok(_) => open -= 1,
                    Err(_) => self.listen(ring, woken),
                }
            }
            self.drive.submit(&mut batch);
            self.commit(ring);
        }
        Ok(())
    }

    /// Hands over what was asked for, and waits until something comes, unless answers are there.
    fn wait(&self, ring: &mut IoUring) -> Result<(), Error> {
        self.done.awake.store(false, Ordering::SeqCst);
        let there = !lock(&self.done.answers).is_empty();
        let waited = ring.submit_and_wait(usize::from(!there));
        self.done.awake.store(true, Ordering::SeqCst);
        match waited {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                Err(failed("wait for requests")(error))
            }
            _ => Ok(()),
        }
    }

    /// Lets an answer wake this thread.
    fn listen(&self, ring: &mut IoUring, woken: *mut u64) {
        let event = types::Fd(self.done.event.as_raw_fd());
        let entry = opcode::Read::new(event, woken.cast(), 8).build().user_data(WOKEN);
        // SAFETY: the number was leaked, and nobody looks at it.
        unsafe { push(ring, &entry) };
    }

    /// Asks for the next request of a tag, and tells how the last one went.
    fn fetch(&mut self, ring: &mut IoUring, op: u32, tag: u16, result: i32) {
        let start = self.place(tag);
        let addr = self.buffers[start..].as_mut_ptr();
        let command = uapi::io(tag, result, addr.expose_provenance() as u64);
        let entry = opcode::UringCmd16::new(types::Fd(self.file.as_raw_fd()), op).cmd(command);
        let entry = entry.build().user_data(tag.into());
        // SAFETY: the buffers are given back only once no command is left, and the piece of this tag is not looked at
        // while the kernel has one of it.
        unsafe { push(ring, &entry) };
    }

    /// Where the data of a tag begins.
    fn place(&self, tag: u16) -> usize {
        usize::from(tag) * MAX_IO as usize
    }

    /// What the kernel asks for.
    fn request(&self, tag: u16) -> Asked<To> {
        let Description { op_flags, sectors, start_sector, .. } = self.descriptions.get(tag);
        // A flush has no place: its sector is what the kernel takes for none.
        let (offset, len) = match op_flags & uapi::OP_MASK {
            uapi::OP_FLUSH => (Bytes(0), Bytes(0)),
            _ => (Bytes(start_sector * 512), Bytes(u64::from(sectors) * 512)),
        };
        let mut data = Vec::new();
        let op = match op_flags & uapi::OP_MASK {
            uapi::OP_READ => Op::Read,
            uapi::OP_FLUSH => Op::Flush,
            uapi::OP_DISCARD => Op::Trim,
            uapi::OP_WRITE_ZEROES => Op::Write,
            op => {
                debug_assert_eq!(op, uapi::OP_WRITE, "no other operation was offered");
                let start = self.place(tag);
                let end = start + usize::try_from(len.0).expect("at most the longest request");
                data.extend_from_slice(&self.buffers[start..end]);
                Op::Write
            }
        };
        let durable = op == Op::Write && op_flags & uapi::F_FUA != 0;
        let request = Request { op, offset, len, data, durable };
        Asked { request, from: To { tag, done: Arc::clone(&self.done) } }
    }

    /// Tells the kernel what is done.
    fn commit(&mut self, ring: &mut IoUring) {
        let answers = std::mem::take(&mut *lock(&self.done.answers));
        for Answered { request, result, to } in answers {
            if request.op == Op::Read && result.is_ok() {
                let start = self.place(to.tag);
                self.buffers[start..start + request.data.len()].copy_from_slice(&request.data);
            }
            let result = match result {
                Ok(()) => i32::try_from(request.len.0).unwrap_or(0),
                Err(Errno(number)) => -number,
            };
            self.fetch(ring, uapi::COMMIT_AND_FETCH_REQ, to.tag, result);
        }
    }
}

/// The ring has room: there is at most one command of each tag, and one that waits to be woken.
///
/// # Safety
/// The memory that the entry leads to is valid, and used by nobody else, until the command is answered, or for ever
/// where it is not.
unsafe fn push(ring: &mut IoUring, entry: &io_uring::squeue::Entry) {
    // SAFETY: the memory is as the caller says.
    unsafe { ring.submission().push(entry) }.expect("the ring has room for every tag");
}
