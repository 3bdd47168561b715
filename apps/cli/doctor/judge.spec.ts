import { describe, expect, it } from 'vitest';
import type { Cluster } from '../session/answers.js';
import { SOME_CLUSTER } from '../testing/some-cluster.js';
import type { Finding, KnownFacts } from './finding.js';
import { judgeCredentials } from './judge-credentials.js';
import { judgeFacts } from './judge-facts.js';
import { judgeLinks } from './judge-links.js';

const nowMs = Date.parse('2026-11-10T12:00:00.000Z');
const at = (hours: number): string => new Date(nowMs + hours * 3_600_000).toISOString();
const agent = { instance: 'aaaaaaaa-1', addresses: ['192.0.2.1'], since: at(-5), version: '0.1.0', pod: null };
const online: Cluster['presence'] = {
  state: 'online',
  replicas: ['gateway-a', 'gateway-b'],
  liveReplicas: 2,
  since: at(-5),
  agents: [agent],
  duplicate: null,
  lastError: null,
};
const away: Cluster['presence'] = { ...online, state: 'offline', replicas: [], since: at(-1), agents: [] };
const said = {
  agentVersion: '0.1.0',
  kubernetesVersion: 'v1.31.4+k3s1',
  platform: 'linux/x64',
  distribution: 'k3s',
  provider: 'aws',
  nodes: { total: 3, ready: 3 },
  capabilities: [
    'link:facts',
    'rbac:impersonate-admins',
    'rbac:impersonate-roles',
    'rbac:impersonate-users',
    'rbac:list-nodes',
  ],
};
const cluster: Cluster = {
  ...SOME_CLUSTER,
  createdAt: at(-100),
  enrolledAt: at(-90),
  generation: 2,
  facts: said,
  presence: online,
};
const certificate = {
  serial: '0a',
  purpose: 'agent',
  names: [],
  generation: 2,
  notBefore: at(-8),
  notAfter: at(16),
  revokedAt: null,
  revokedFor: null,
};
const token = { id: 't1', state: 'used', createdAt: at(-1), expiresAt: at(1), revokedAt: null, usedBy: null };
const waiting = {
  id: 'r1',
  state: 'pending',
  fingerprint: 'ab'.repeat(32),
  cluster: null,
  facts: said,
  remoteAddress: '192.0.2.9',
  createdAt: at(-1),
  reason: null,
};
const well: KnownFacts = {
  cluster,
  tokens: [token],
  certificates: [certificate],
  waiting: [],
  policy: 'token',
  access: null,
  ownVersion: '0.1.0',
  nowMs,
};
const strange: Cluster = { ...cluster, enrolledAt: null, generation: 0, presence: { ...away, state: 'never' } };
const lastError = { at: at(-1), code: 'TOKEN_EXPIRED', reason: 'too late', address: '192.0.2.9', replica: '' };

const judge = (change: Partial<KnownFacts>): Finding[] => {
  const facts = { ...well, ...change };
  return [...judgeCredentials(facts), ...judgeLinks(facts), ...judgeFacts(facts)];
};
const notWell = (change: Partial<KnownFacts>): string[] =>
  judge(change).flatMap(({ ok, warning, check, remedy }) =>
    ok && !warning ? [] : [`${ok ? 'warn' : 'FAIL'} ${check}: ${remedy}`],
  );
const withPresence = (presence: Partial<Cluster['presence']>): Partial<KnownFacts> => ({
  cluster: { ...cluster, presence: { ...online, ...presence } },
});

it('finds nothing where all is well, and looks at everything', () => {
  expect(notWell({})).toEqual([]);
  const checks = judge({}).map(({ check }) => check);
  expect(checks).toEqual(['enrolment', 'token', 'certificate', 'presence', 'links', 'version', 'facts']);
});

it('gives a remedy for each failure and warning, and for nothing else', () => {
  for (const { ok, warning, remedy } of [...judge({}), ...judge(withPresence(away)), ...judge({ cluster: strange })]) {
    expect(remedy !== undefined).toBe(!ok || warning);
  }
});

describe('a cluster without an agent yet', () => {
  it.each<[string, Partial<KnownFacts>, string, string]>([
    ['was not imported', { tokens: [] }, 'not imported', 'fairlead cluster import demo | kubectl'],
    [
      'has a token that is unused',
      { tokens: [{ ...token, state: 'unused' }] },
      '60 more minutes',
      'apply the manifest',
    ],
    ['has one that expired', { tokens: [{ ...token, state: 'expired' }] }, 'expired unused', 'fairlead cluster import'],
    ['has an agent that waits', { waiting: [{ ...waiting, cluster: 'demo' }] }, '192.0.2.9', 'request approve r1'],
    ['may be one that waits', { waiting: [waiting] }, '1 wait', 'request approve r1 --cluster demo'],
    ['rejects everybody', { policy: 'always-reject' }, 'rejects', 'fairlead identity issue demo'],
    [
      'had one that was refused',
      { cluster: { ...strange, presence: { ...strange.presence, lastError } } },
      'TOKEN_EXPIRED',
      'cluster import',
    ],
  ])('%s', (_, change, detail, remedy) => {
    const [finding, ...others] = judge({ cluster: strange, ...change });
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ check: 'enrolment', ok: false });
    expect(finding?.detail).toContain(detail);
    expect(finding?.remedy).toContain(remedy);
  });
});

describe('credentials', () => {
  it.each<[string, Partial<KnownFacts>, string]>([
    ['a token that is left', { tokens: [{ ...token, state: 'unused' }] }, 'warn token: .* token revoke demo t1'],
    ['an agent that waits', { waiting: [{ ...waiting, cluster: 'demo' }] }, 'warn queue: .* request approve r1'],
    ['no certificate', { certificates: [] }, 'FAIL certificate: fairlead cluster import demo'],
    ['an older enrolment’s', { certificates: [{ ...certificate, generation: 1 }] }, 'FAIL certificate'],
    [
      'a revoked one',
      { certificates: [{ ...certificate, revokedAt: at(-1) }] },
      'FAIL certificate: fairlead cluster import',
    ],
    ['one that ended', { certificates: [{ ...certificate, notAfter: at(-1) }] }, 'FAIL certificate: start the agent'],
    [
      'one that ended long ago',
      { certificates: [{ ...certificate, notAfter: at(-31 * 24) }] },
      'FAIL certificate: fairlead cluster import',
    ],
    ['one that is overdue', { certificates: [{ ...certificate, notBefore: at(-100) }] }, 'warn certificate: .*renewal'],
  ])('%s', (_, change, expected) => {
    expect(notWell(change)).toEqual([expect.stringMatching(expected) as string]);
  });

  it('that could not be asked for are not judged', () => {
    expect(notWell({ tokens: null, certificates: null, waiting: null, policy: null })).toEqual([]);
  });
});

describe('links', () => {
  it.each<[string, Partial<Cluster['presence']>, string]>([
    ['offline', away, 'FAIL presence: in the cluster: kubectl'],
    [
      'offline, cut off',
      { ...away, lastError: { ...lastError, code: 'CERTIFICATE_REVOKED' } },
      'FAIL presence: it was cut',
    ],
    [
      'offline, replaced',
      { ...away, lastError: { ...lastError, code: 'CERTIFICATE_REFUSED' } },
      'FAIL presence: .*import',
    ],
    [
      'offline, too old',
      { ...away, lastError: { ...lastError, code: 'VERSION_UNSUPPORTED' } },
      'FAIL presence: update',
    ],
    ['draining', { state: 'draining' }, 'warn presence: .*gateways'],
    ['lost a moment ago', { lastError: { ...lastError, at: at(-0.1) } }, 'warn presence: .*cluster-offline'],
    ['one replica of two', { replicas: ['gateway-a'] }, 'warn links: .*FAIRLEAD_ENDPOINTS'],
    [
      'two agents in a rollout',
      { agents: [agent, { ...agent, since: at(-0.01) }], duplicate: 'elsewhere' },
      'warn agents: .*three minutes',
    ],
    [
      'two agents for long',
      { agents: [agent, { ...agent, instance: 'b' }], duplicate: 'elsewhere' },
      'FAIL agents: .*cluster revoke demo',
    ],
    ['an old agent', { agents: [{ ...agent, version: '1.0.0' }] }, 'warn version: update'],
  ])('%s', (_, change, expected) => {
    expect(notWell(withPresence(change))).toEqual([expect.stringMatching(expected) as string]);
  });

  it('are well one minor version apart, and with an agent that does not say', () => {
    expect(notWell(withPresence({ agents: [{ ...agent, version: '0.2.9' }] }))).toEqual([]);
    expect(notWell(withPresence({ agents: [agent, { ...agent, instance: 'b' }] }))).toEqual([]);
    expect(notWell(withPresence({ agents: [{ ...agent, version: '' }] }))).toEqual([]);
    expect(notWell(withPresence({ agents: [{ ...agent, version: 'test' }] }))).toHaveLength(1);
  });

  it('are to as many replicas as it wants, or as there are', () => {
    const linksOf = (change: Partial<Cluster['presence']>): string | undefined =>
      judge(withPresence(change)).find(({ check }) => check === 'links')?.detail;
    expect(linksOf({})).toBe('linked to 2 of 2 replicas');
    expect(linksOf({ liveReplicas: 3 })).toBe('linked to 2 of 3 replicas, of which it wants 2');
    expect(linksOf({ replicas: ['gateway-a'], liveReplicas: 1 })).toBe('linked to 1 of 1 replicas');
    expect(linksOf({ replicas: ['gateway-a'], liveReplicas: 0 })).toBe('linked to 1 of 2 replicas');
    expect(notWell(withPresence({ replicas: ['gateway-a'], liveReplicas: 1 }))).toEqual([]);
  });

  it('send one to the namespace that its agent is in', () => {
    const elsewhere = { ...cluster, manifestValues: { namespace: 'edge' }, presence: away };
    expect(judge({ cluster: elsewhere }).find(({ check }) => check === 'presence')?.remedy).toContain(
      'kubectl -n edge exec',
    );
  });

  it('say why the last one ended', () => {
    const found = judge(withPresence({ ...away, lastError }));
    expect(found.find(({ check }) => check === 'presence')?.detail).toContain('TOKEN_EXPIRED: too late');
  });
});

describe('what the agent says of its cluster', () => {
  const without = (...missing: string[]): string[] => said.capabilities.filter((each) => !missing.includes(each));
  const saying = (change: Partial<NonNullable<Cluster['facts']>>): Partial<KnownFacts> => ({
    cluster: { ...cluster, facts: { ...said, ...change } },
  });

  it.each<[string, Parameters<typeof saying>[0], string]>([
    ['too old to say it', { nodes: null, capabilities: [] }, 'warn facts: update the agent.*import demo'],
    ['may not list nodes', { nodes: null, capabilities: without('rbac:list-nodes') }, 'warn facts: .*import demo'],
    ['may not be people', { capabilities: without('rbac:impersonate-users') }, 'warn facts: .*import demo'],
    [
      'has a manifest from before grants',
      { capabilities: without('rbac:impersonate-roles') },
      'warn facts: apply the import manifest again: .*import demo',
    ],
    ['has a node that is not ready', { nodes: { total: 3, ready: 2 } }, 'warn facts: .*get nodes'],
  ])('%s', (_, change, expected) => {
    expect(notWell(saying(change))).toEqual([expect.stringMatching(expected) as string]);
  });

  it('is shown with what is known, and is nothing to worry about while it is not', () => {
    const detailOf = (change: Partial<KnownFacts>): string | undefined =>
      judge(change).find(({ check }) => check === 'facts')?.detail;
    expect(detailOf({})).toBe('Kubernetes v1.31.4+k3s1 k3s on aws; 3 of 3 nodes are ready');
    expect(notWell(saying({ nodes: null }))).toEqual([]);
    expect(detailOf({ cluster: { ...cluster, facts: null } })).toBeUndefined();
    expect(detailOf({ cluster: { ...cluster, presence: away } })).toBeUndefined();
  });
});
