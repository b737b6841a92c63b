// The worker that reads a trace.
import type { TraceAnswer, TraceRequest } from './trace-module';

/** The functions of the module (crates/trace-page/src/abi.rs). */
interface Exports {
  memory: WebAssembly.Memory;
  trace_input(length: number): number;
  trace_read(name: number): number;
  trace_text(): number;
  trace_text_len(): number;
}

async function read({ module, name, content }: TraceRequest): Promise<TraceAnswer> {
  const { instance } = await WebAssembly.instantiate(module);
  const exports = instance.exports as unknown as Exports;
  const encoded = new TextEncoder().encode(name);
  const length = encoded.length + content.byteLength;
  const place = exports.trace_input(length);
  const input = new Uint8Array(exports.memory.buffer, place, length);
  input.set(encoded);
  input.set(new Uint8Array(content), encoded.length);
  const isRead = exports.trace_read(encoded.length) === 1;
  const { buffer } = exports.memory;
  const bytes = new Uint8Array(buffer, exports.trace_text(), exports.trace_text_len());
  const text = new TextDecoder().decode(bytes);
  return isRead ? { json: text } : { reason: text };
}

addEventListener('message', async ({ data }: MessageEvent<TraceRequest>) => {
  postMessage(await read(data).catch((error) => ({ reason: String(error) })));
});
