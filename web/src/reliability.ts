// Sentences about how far the numbers of a result can be trusted.
import { runsOf } from './data/model';
import type { BaselineCheck, Facts, Manifest, Obstacle, Unknown } from './data/views.gen';
import { count } from './format';
import { share } from './methodology';

/** The reason why the preparation did not find a quantity. */
const OBSTACLES: Record<Obstacle, string> = {
  time: 'ended at its time limit',
  bytes: 'ended at its write limit',
  space: 'reached the end of its target space',
  budget: 'was skipped to keep within the budget',
  noise: 'ended before the reads were as fast as before the writes',
  failure: 'failed',
};

/** An unknown quantity, the reason, and the assumption made instead. */
function unknownWords({ quantity, experiment, run, because, assumed }: Unknown): string {
  const what = quantity === 'phases' ? `The phases of ${experiment}` : 'The recovery from writes';
  return `${what} could not be determined, because run ${run} ${OBSTACLES[because]}. Assumed: ${assumed}.`;
}

/** The warnings about the numbers of a result. */
export function reliabilityWarnings(manifest: Manifest, facts: Facts): string[] {
  const warnings = [
    ...(manifest.imported?.notes ?? []),
    ...(manifest.findings?.unknown ?? []).map(unknownWords),
  ];
  if (facts.verdicts_withheld != null) warnings.push(`No verdicts: ${facts.verdicts_withheld}.`);
  const sharing = runsOf(manifest.micro_benchmarks).filter(
    (run) => (run.shares_space_with ?? []).length > 0,
  ).length;
  if (sharing > 0) {
    const runs = sharing === 1 ? '1 run' : `${count(sharing)} runs`;
    warnings.push(`${runs} measured space that other runs had written to.`);
  }
  for (const { finding } of facts.baselines?.differences ?? []) {
    warnings.push(`Baselines disagree: ${finding}`);
  }
  return warnings;
}

/** States that the identical baselines agree; undefined if they do not or were not compared. */
export function agreementWords(check: BaselineCheck | null | undefined): string | undefined {
  if (check == null || !check.agree) return undefined;
  const largest = share(check.largest_difference);
  return `${count(check.compared)} identical baselines of the micro-benchmarks agree; the largest difference is ${largest}.`;
}
