import { expect, it } from 'vitest';
import type { KnownHostKey } from '../../domain/host-key-set.js';
import { toEntry } from './host-view.js';

const EARLIER = new Date('2026-11-22T12:00:00Z');
const NOW = new Date('2026-11-22T12:05:00Z');
const host = { id: crypto.randomUUID(), name: 'main', sshHost: 'git.example.com', sshPort: 22 };

function key(publicKey: string, lastSeenAt: Date | null): KnownHostKey {
  const type = 'ssh-ed25519';
  return {
    fingerprint: publicKey,
    type,
    publicKey,
    state: 'approved',
    firstSeenAt: EARLIER,
    lastSeenAt,
    decidedBy: 'ada',
  };
}

it('clusters are told first of the keys that the host shows, then of those that are announced or gone', () => {
  const keys = [key('announced', null), key('shown', NOW), key('before', EARLIER), key('also', NOW)];
  expect(toEntry({ ...host, scannedAt: NOW }, keys).approvedKeys).toEqual(['also', 'shown', 'announced', 'before']);
  expect(toEntry({ ...host, scannedAt: null }, keys).approvedKeys).toEqual(['also', 'announced', 'before', 'shown']);
  expect(toEntry({ ...host, scannedAt: NOW }, [{ ...key('proposed', NOW), state: 'proposed' }]).approvedKeys).toEqual(
    [],
  );
});
