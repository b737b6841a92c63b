#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "/dev/ublkcN: the device that the kernel created for this process"
    )
)]
#![allow(unsafe_code, reason = "reads the kernel's requests from memory shared with it")]

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
use crate::{Answer, AttachedDrive, CompletedRequest, PendingRequest, Request, RequestError, lock};

/// The request of the kernel to which a reply goes.
pub struct Recipient {
    tag: u16,
    completions: Arc<Completions>,
}

/// The completed requests that were not yet reported to the kernel.
struct Completions {
    answers: Mutex<Vec<CompletedRequest<Recipient>>>,
    /// True if the queue's thread will read the results without being woken.
    awake: AtomicBool,
    event: OwnedFd,
}

impl Answer for Recipient {
    fn answer(done: &mut Vec<CompletedRequest<Recipient>>) {
        let Some(first) = done.first() else { return };
        let to = Arc::clone(&first.to.completions);
        lock(&to.answers).append(done);
        if !to.awake.swap(true, Ordering::SeqCst) {
            to.wake();
        }
    }
}

impl Completions {
    fn new() -> io::Result<Completions> {
        let event = eventfd(0, EventfdFlags::CLOEXEC)?;
        Ok(Completions { answers: Mutex::default(), awake: AtomicBool::new(true), event })
    }

    fn wake(&self) {
        // A write fails only if the counter is full, and then the thread is woken anyway.
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }
}

/// The queue of one block device. The kernel requires that one thread submits all its commands.
pub(super) struct Queue {
    file: File,
    drive: Arc<AttachedDrive<Recipient>>,
    descriptions: Descriptions,
    /// The data buffers of the requests by tag, which the kernel reads and writes. They are freed
    /// only once no command is in flight.
    buffers: ManuallyDrop<Box<[u8]>>,
    completions: Arc<Completions>,
}

/// The descriptors of the kernel's requests by tag, in memory shared with the kernel.
struct Descriptions(NonNull<Description>);

// SAFETY: only the queue's thread reads the memory, on whichever thread it runs.
unsafe impl Send for Descriptions {}

/// The size of the shared memory in bytes.
const SHARED: usize = (QUEUE_DEPTH as usize * size_of::<Description>()).next_multiple_of(4096);

impl Descriptions {
    fn map(file: &File) -> io::Result<Descriptions> {
        let (protection, flags) = (libc::PROT_READ, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: creates a new mapping and touches no existing one.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), SHARED, protection, flags, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Descriptions(NonNull::new(start.cast()).expect("mmap never returns null")))
    }

    fn get(&self, tag: u16) -> Description {
        assert!(tag < QUEUE_DEPTH);
        // SAFETY: the address is within the mapping. The kernel writes the descriptor before it
        // passes the request, and not again before that request is completed.
        unsafe { self.0.add(tag.into()).read_volatile() }
    }
}

impl Drop for Descriptions {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly the mapping created above.
        unsafe { libc::munmap(self.0.as_ptr().cast(), SHARED) };
    }
}

/// The user data of the read that wakes the queue's thread; other commands carry their tag.
const WAKE: u64 = u64::MAX;

impl Queue {
    pub(super) fn open(id: u32, drive: Arc<AttachedDrive<Recipient>>) -> Result<Queue, Error> {
        let path = format!("/dev/ublkc{id}");
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file = file.map_err(failed("open the request queue of the block device"))?;
        let descriptions =
            Descriptions::map(&file).map_err(failed("share memory with the kernel"))?;
        let buffers = vec![0; usize::from(QUEUE_DEPTH) * MAX_IO as usize].into_boxed_slice();
        let completions = Arc::new(Completions::new().map_err(failed("create an eventfd"))?);
        Ok(Queue { file, drive, descriptions, buffers: ManuallyDrop::new(buffers), completions })
    }

    /// Serves requests until the device is stopped. Calls `fetching` once the first fetches are
    /// submitted.
    pub(super) fn run(mut self, fetching: impl FnOnce()) -> Result<(), Error> {
        let ring = IoUring::builder().setup_single_issuer().build(2 * u32::from(QUEUE_DEPTH));
        let mut ring = ring.map_err(failed("create an io_uring"))?;
        // The number is leaked, because the kernel may write it after the thread has ended.
        let counter = Box::leak(Box::new(0));
        self.serve(&mut ring, counter, fetching)?;
        // Without an error, no command uses the buffers any more. After an error, the kernel may
        // still use them, and they are leaked.
        drop(ring);
        let Queue { buffers, .. } = self;
        drop(ManuallyDrop::into_inner(buffers));
        Ok(())
    }

    fn serve(
        &mut self,
        ring: &mut IoUring,
        counter: *mut u64,
        fetching: impl FnOnce(),
    ) -> Result<(), Error> {
        self.listen(ring, counter);
        for tag in 0..QUEUE_DEPTH {
            self.fetch(ring, uapi::FETCH_REQ, tag, 0);
        }
        ring.submit().map_err(failed("fetch requests"))?;
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
                    Err(_) => self.listen(ring, counter),
                }
            }
            self.drive.submit(&mut batch);
            self.commit(ring);
        }
        Ok(())
    }

    /// Submits the pending commands, and waits for a completion unless results are available.
    fn wait(&self, ring: &mut IoUring) -> Result<(), Error> {
        self.completions.awake.store(false, Ordering::SeqCst);
        let available = !lock(&self.completions.answers).is_empty();
        let waited = ring.submit_and_wait(usize::from(!available));
        self.completions.awake.store(true, Ordering::SeqCst);
        match waited {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                Err(failed("wait for requests")(error))
            }
            _ => Ok(()),
        }
    }

    /// Submits the read of the eventfd that wakes this thread.
    fn listen(&self, ring: &mut IoUring, counter: *mut u64) {
        let event = types::Fd(self.completions.event.as_raw_fd());
        let entry = opcode::Read::new(event, counter.cast(), 8).build().user_data(WAKE);
        // SAFETY: the number was leaked, and nothing else reads it.
        unsafe { push(ring, &entry) };
    }

    /// Fetches the next request of a tag, and reports the result of the previous one.
    fn fetch(&mut self, ring: &mut IoUring, op: u32, tag: u16, result: i32) {
        let start = self.place(tag);
        let addr = self.buffers[start..].as_mut_ptr();
        let command = uapi::io(tag, result, addr.expose_provenance() as u64);
        let entry = opcode::UringCmd16::new(types::Fd(self.file.as_raw_fd()), op).cmd(command);
        let entry = entry.build().user_data(tag.into());
        // SAFETY: the buffers are freed only once no command is in flight, and the buffer of a tag
        // is not accessed while the kernel has a command for that tag.
        unsafe { push(ring, &entry) };
    }

    /// Returns the offset of a tag's data in the buffers.
    fn place(&self, tag: u16) -> usize {
        usize::from(tag) * MAX_IO as usize
    }

    /// Returns the request of the kernel for a tag.
    fn request(&self, tag: u16) -> PendingRequest<Recipient> {
        let Description { op_flags, sectors, start_sector, .. } = self.descriptions.get(tag);
        // A flush has no range: the kernel sets an invalid sector.
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
                let end = start + usize::try_from(len.0).expect("a request fits in its buffer");
                data.extend_from_slice(&self.buffers[start..end]);
                Op::Write
            }
        };
        let durable = op == Op::Write && op_flags & uapi::F_FUA != 0;
        let request =
            Request { op, offset, len, data, durable, appends: false, stream: 0, metadata: None };
        PendingRequest {
            request,
            from: Recipient { tag, completions: Arc::clone(&self.completions) },
        }
    }

    /// Reports completed requests to the kernel.
    fn commit(&mut self, ring: &mut IoUring) {
        let answers = std::mem::take(&mut *lock(&self.completions.answers));
        for CompletedRequest { request, result, to } in answers {
            if request.op == Op::Read && result.is_ok() {
                let start = self.place(to.tag);
                self.buffers[start..start + request.data.len()].copy_from_slice(&request.data);
            }
            let result = match result.map_err(RequestError::errno) {
                Ok(()) => i32::try_from(request.len.0).unwrap_or(0),
                Err(Errno(number)) => -number,
            };
            self.fetch(ring, uapi::COMMIT_AND_FETCH_REQ, to.tag, result);
        }
    }
}

/// Adds an entry to the ring, which has room for one command per tag and the read that wakes the
/// thread.
///
/// # Safety
/// The memory that the entry refers to must be valid and not used otherwise until the command
/// completes, or forever if it does not complete.
unsafe fn push(ring: &mut IoUring, entry: &io_uring::squeue::Entry) {
    // SAFETY: the caller guarantees that the memory stays valid.
    unsafe { ring.submission().push(entry) }.expect("the ring has room for every tag");
}
