import { expect, it } from 'vitest';
import type { AdministratorUse } from '../reporting/gateway-events.js';
import { AdministratorWatch } from './administrator-watch.js';
import type { Identity } from './outcome.js';

function identity(of: 'administrator' | 'login', id = 'token-1'): Identity {
  return { kind: 'user', id: 'admin', name: 'admin', tenantId: 't', proof: { kind: 'token', id, of } };
}

it('tells of the administrator’s token once a minute, and of how often it was used since', () => {
  let nowMs = 0;
  const told: AdministratorUse[] = [];
  const lines: string[] = [];
  const watch = new AdministratorWatch(
    {
      events: { administratorUsed: (use) => void told.push(use) },
      logger: { warn: (event) => void lines.push(event) },
    },
    { monotonicMs: () => nowMs },
  );
  const use = (who: Identity): void => watch.used('kube-api', who, '192.0.2.1', { method: 'GET', cluster: 'shop' });
  use(identity('login'));
  expect(told).toEqual([]);
  for (const second of [0, 1, 59, 60, 61]) {
    nowMs = second * 1_000;
    use(identity('administrator'));
  }
  use(identity('administrator', 'token-2'));
  expect(told.map(({ tokenId, suppressed }) => [tokenId, suppressed])).toEqual([
    ['token-1', 0],
    ['token-1', 2],
    ['token-2', 0],
  ]);
  expect(told[0]).toMatchObject({
    tenantId: 't',
    user: 'admin',
    address: '192.0.2.1',
    door: 'kube-api',
    cluster: 'shop',
  });
  expect(lines).toEqual(Array(3).fill('administrator.used'));
});
