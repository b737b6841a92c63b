// Predictions: by a model, which computes write amplification, or by a twin, which is simulated.
import type { PredictionReport } from './prediction.gen';
import type { TwinPrediction } from './twin-prediction.gen';

/** The prediction of a model or of a twin. */
export type Prediction = PredictionReport | TwinPrediction;

/** True for the prediction of a twin. */
export const isOfTwin = (prediction: Prediction): prediction is TwinPrediction =>
  'latency_ns' in prediction;
