import { FairleadError } from '@fairlead/errors';
import { appendEvent, createEvent } from '@fairlead/events';
import { inTransaction, readFrom } from '@fairlead/persistence';
import { spkiPin } from '@fairlead/pki';
import { authoritiesStamp } from '../store/authority-store.js';
import { CurrentCa, type CurrentCaOptions } from './current-ca.js';
import { aboutCa } from './load-ca.js';

/** Versions below the highest that a raise leaves to what may follow at once: a rotation takes three, a revocation of a gateway one. */
const KEPT = 20;

/**
 * Signs the same roots under a version that is higher by so many, for agents that were given one that `keys` never made. Returns it.
 * INVALID_ARGUMENT; CONFLICT above what holders take at this time, less `KEPT`, before there is a CA, and while a root is rotated, where everybody would be waited for anew.
 */
export async function raiseTrust(options: CurrentCaOptions, by: number): Promise<number> {
  if (!Number.isSafeInteger(by) || by < 1) {
    throw new FairleadError('INVALID_ARGUMENT', '--by: a whole number from 1 is wanted');
  }
  if ((await readFrom(options.database, authoritiesStamp)) === '') {
    throw new FairleadError('CONFLICT', 'there is no CA yet: start `keys` first, or import one');
  }
  const current = await CurrentCa.open(options);
  const version = await inTransaction(options.database, async (manager) => {
    const { authority } = await current.locked(manager);
    if (authority.find('identity-root', 'next') || authority.find('identity-root', 'retiring')) {
      throw new FairleadError('CONFLICT', 'a root is being rotated: finish that first, see `fairlead ca status`');
    }
    const after = await current.publish(manager, by, KEPT);
    const pins = after.authority.roots().map(spkiPin);
    const data = { ...aboutCa(options.source, pins[0] ?? ''), pins, trustVersion: after.bundle.version };
    await appendEvent(manager, createEvent(options.source, 'dev.fairlead.ca.trust-raised.v1', data));
    return after.bundle.version;
  });
  options.onCommitted();
  return version;
}
