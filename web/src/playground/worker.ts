// The worker that runs the simulator.
import type { Answer, Request } from './messages';
import { Drive, Refused } from './module';

/** The number of flash commands between two readings of the clock, which take a fraction of a millisecond. */
const STRIDE = 400;

/** The maximum number of IOs to compute for one step of `STRIDE` commands. */
const MAX_IOS = 1_000_000;

let drive: Drive | undefined;

/** Answers a request. */
async function answer(request: Request): Promise<Answer> {
  if (request.kind === 'load') {
    drive = await Drive.load(request.module);
    return { kind: 'loaded' };
  }
  if (drive === undefined) throw new Error('the simulator is not loaded');
  switch (request.kind) {
    case 'open':
      drive.open(request.setup);
      if (request.ios > 0) drive.advance(0xffff_ffff, request.ios);
      return { kind: 'picture', picture: drive.picture(), commandLine: drive.commandLine() };
    case 'change':
      drive.change(request.workload);
      return { kind: 'picture', picture: drive.picture(), commandLine: drive.commandLine() };
    case 'advance':
      advance(drive, request.commands, request.budget);
      return { kind: 'picture', picture: drive.picture(request.pages) };
    case 'advance-io':
      drive.advanceIo();
      return { kind: 'picture', picture: drive.picture() };
  }
}

function advance(drive: Drive, commands: number, budget: number): void {
  const end = performance.now() + budget;
  let left = commands;
  while (left > 0) {
    const stride = Math.min(left, STRIDE);
    // If the drive shows fewer commands, it has failed or computed `MAX_IOS` IOs.
    if (drive.advance(stride, MAX_IOS) < stride || performance.now() > end) return;
    left -= stride;
  }
}

// The answers stay in the order of the requests.
let last: Promise<void> = Promise.resolve();
addEventListener('message', ({ data }: MessageEvent<Request>) => {
  last = last.then(async () => {
    try {
      const answered = await answer(data);
      const moved = answered.kind === 'picture' ? [answered.picture.pages.buffer] : [];
      postMessage(answered, { transfer: moved });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      postMessage({ kind: 'refused', reason: error.message } satisfies Answer);
    }
  });
});
