// A profile that the user drops on the page, as a drive of the playground.
import { unpack } from '../data/module';
import { count } from '../format';
import { addDrive, type DriveKind, FTLS } from './drives';
import { readProfile } from './module';

/** The range of over-provisioning in which drives work. */
const SPARE = { least: 0.05, most: 0.5 };

/**
 * Adds the drive of a profile, and returns its id.
 *
 * @throws Refused with the reason why the playground cannot show it.
 */
export async function addProfile(file: string, toml: string): Promise<string> {
  const { ftl, spare, policy, scheduler, overrides, pages, whole } = await readProfile(
    await unpack('playground'),
    toml,
  );
  const size =
    pages === whole
      ? `${count(whole)} pages`
      : `${count(pages)} of its ${count(whole)} pages, so that each is visible`;
  const kind: DriveKind = {
    id: `dropped ${file}`,
    name: file,
    summary: `the dropped profile, with ${size}`,
    spec: `${file}?${overrides}`,
    toml,
    ftls: FTLS[ftl] === undefined ? ['page-map'] : [ftl],
    spare: {
      least: Math.min(SPARE.least, spare),
      most: Math.max(SPARE.most, spare),
      first: spare,
    },
    own: { policy, scheduler },
  };
  addDrive(kind);
  return kind.id;
}
