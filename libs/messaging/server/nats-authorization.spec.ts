import { accessRpc, auditRpc, gitKeysRpc, gitopsRpc, keysRpc, registrationRpc, type Rpc } from '@fairlead/contracts';
import { describe, expect, it } from 'vitest';
import { natsAuthorization } from './nats-authorization.js';

const ALL = [accessRpc, auditRpc, registrationRpc, keysRpc, gitKeysRpc, gitopsRpc].flatMap((rpcs) =>
  Object.values<Rpc>(rpcs),
);

describe.each(['access', 'audit', 'keys', 'gitops', 'registration'] as const)('%s', (role) => {
  it('may answer for as long as a caller waits', () => {
    const text = natsAuthorization([{ role, credential: role, publicKey: 'U' }]);
    const allowedMs = Number(/allow_responses: \{ max: 1, expires: "(\d+)s" \}/.exec(text)?.[1]) * 1_000;
    const longestMs = Math.max(...ALL.filter(({ service }) => service === role).map(({ timeoutMs }) => timeoutMs));
    expect(allowedMs).toBeGreaterThanOrEqual(longestMs);
  });
});

it('lets nobody answer who is asked nothing', () => {
  const text = natsAuthorization([{ role: 'api', credential: 'api', publicKey: 'U' }]);
  expect(text).not.toContain('allow_responses');
});

it('lets a replica hear what it is asked itself, and not what another is', () => {
  const text = natsAuthorization([{ role: 'gateway', credential: 'gateway-a', publicKey: 'U' }]);
  expect(text).toContain('"fairlead.rpc.*.gateway.list-passages.*.*.gateway-a"');
  expect(text).not.toContain('gateway.list-passages.*.*.*');
  expect(text).toContain('allow_responses');
});
