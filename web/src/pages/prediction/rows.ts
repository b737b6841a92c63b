// The rows of the table of a prediction.
import type { PredictedValue, PredictionReport } from '../../data/prediction.gen';
import type { Range, TwinPrediction } from '../../data/twin-prediction.gen';
import { bytes, count, decimal, throughput, time } from '../../format';

/** A predicted number, and the simulated number if the simulator ran. */
export interface ExpectedRow {
  name: string;
  value: number;
  low?: number | undefined;
  high?: number | undefined;
  write: (value: number) => string;
  simulated?: number | undefined;
  /** The deviation of the prediction from the simulation. */
  error?: number | null | undefined;
}

const whole = (value: number) => count(Math.round(value));

/** The numbers that a model predicts. */
export function modelRows(prediction: PredictionReport): ExpectedRow[] {
  const { model, lifetime, simulated } = prediction;
  const row = (
    name: string,
    predicted: PredictedValue | null | undefined,
    write: ExpectedRow['write'],
    found: Pick<ExpectedRow, 'simulated' | 'error'> = {},
  ): ExpectedRow[] =>
    predicted == null
      ? []
      : [
          {
            name,
            value: predicted.value,
            low: predicted.interval?.low,
            high: predicted.interval?.high,
            write,
            ...found,
          },
        ];
  const grid = model === 'grid';
  return [
    ...row('write amplification', prediction.write_amplification, decimal, {
      simulated: simulated?.write_amplification,
      error: simulated?.write_amplification_error,
    }),
    ...row('blocks erased', prediction.erases, whole, {
      simulated: simulated?.erases,
      error: simulated?.erases_error,
    }),
    ...row('equivalent throughput', prediction.equivalent_throughput, decimal),
    ...row(grid ? 'response time per page' : 'flash time per page', prediction.ns_per_page, time),
    ...row(
      grid ? 'throughput, one write at a time' : 'maximum write throughput',
      prediction.bytes_per_second,
      throughput,
    ),
    ...row('endurance left', lifetime?.endurance_left_bytes, bytes),
    ...row('days until the blocks wear out', lifetime?.days, whole),
  ];
}

/** The numbers that a twin predicts. */
export function twinRows(prediction: TwinPrediction): ExpectedRow[] {
  const { latency_ns: latency } = prediction;
  const row = (
    name: string,
    range: Range | null | undefined,
    write: ExpectedRow['write'],
  ): ExpectedRow[] => (range == null ? [] : [{ name, ...range, write }]);
  return [
    ...row('throughput', prediction.bytes_per_second, throughput),
    ...row('mean response time', latency.mean, time),
    ...row('median', latency.p50, time),
    ...row('99th percentile', latency.p99, time),
    ...row('99.9th percentile', latency.p999, time),
    ...row('write amplification', prediction.write_amplification, decimal),
    ...row('bytes until the blocks wear out', prediction.lifetime_bytes, bytes),
  ];
}
