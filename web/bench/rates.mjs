// The rate of frames.

/**
 * Returns the frames per second, and the gaps between frames in ms: the 95th percentile and the longest.
 * @param {number[]} frames the times of the frames in ms
 */
export function rates(frames) {
  const gaps = frames.slice(1).map((at, i) => at - (frames[i] ?? at));
  const sorted = gaps.toSorted((a, b) => a - b);
  const total = gaps.reduce((sum, gap) => sum + gap, 0);
  return {
    fps: (1000 * gaps.length) / total,
    p95: sorted[Math.floor(0.95 * sorted.length)] ?? 0,
    worst: sorted.at(-1) ?? 0,
  };
}
