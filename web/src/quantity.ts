// The names, units and formats of quantities by which drives are compared.

import type { Quantity } from './data/views.gen';
import { bytes, decimal, throughput, time } from './format';

export const QUANTITIES: Record<Quantity, string> = {
  'latency_ns.mean': 'mean response time',
  'latency_ns.p50': 'median',
  'latency_ns.p99': '99th percentile',
  'latency_ns.p999': '99.9th percentile',
  ios_per_second: 'IOs per second',
  throughput_bytes_per_s: 'throughput',
  bytes_per_second: 'maximum write throughput',
  write_amplification: 'write amplification',
  erases_per_gib: 'erases per GiB',
  endurance_bytes: 'endurance',
};

/** The format of a quantity’s values. */
export function writerOf(quantity: Quantity): (value: number) => string {
  if (quantity.startsWith('latency_ns')) return time;
  if (quantity === 'endurance_bytes') return bytes;
  return quantity.includes('bytes_per_s') ? throughput : decimal;
}
