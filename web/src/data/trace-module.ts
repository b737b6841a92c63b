// The statistics of a trace, as a WebAssembly module (crates/trace-page) in a worker.
import { parseJson } from './json';
import { unpack } from './module';
import type { Trace } from './trace.gen';
import TraceWorker from './trace-worker?worker&inline';

/** The module, the name of the file and its content. */
export interface TraceRequest {
  module: ArrayBuffer;
  name: string;
  content: ArrayBuffer;
}

/** The document, or the reason why the file is no trace. */
export type TraceAnswer = { json: string } | { reason: string };

/** The error for a file that is no trace; the message is the reason. */
export class NoTrace extends Error {}

/**
 * Reads a trace that is not compressed.
 *
 * @throws NoTrace with the reason why the file is none.
 */
export async function readTrace(name: string, content: ArrayBuffer): Promise<Trace> {
  const module = await unpack('trace-page');
  const worker = new TraceWorker();
  try {
    const answer = await new Promise<TraceAnswer>((resolve, reject) => {
      worker.addEventListener('message', ({ data }: MessageEvent<TraceAnswer>) => resolve(data));
      worker.addEventListener('error', ({ message }) => reject(new NoTrace(message)));
      const request: TraceRequest = { module, name, content };
      worker.postMessage(request, [module, content]);
    });
    if ('reason' in answer) throw new NoTrace(answer.reason);
    return parseJson(answer.json) as Trace;
  } finally {
    worker.terminate();
  }
}
