import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '@fairlead/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { readEvents } from '../../support/events.js';
import { fairlead } from '../../support/fairlead.js';
import { invite, readInvitation, startLooseAgent, type Invitation } from '../../support/loose-agent.js';
import { sharedStack } from '../../support/shared-stack.js';
import type { TestStack } from '../../support/test-stack.js';

let running: TestStack;

beforeAll(() => {
  running = sharedStack();
});

interface Listed {
  readonly id: string;
  readonly state: string;
  readonly usedBy: { readonly fingerprint: string; readonly generation: number } | null;
}

const tokensOf = async (cluster: string): Promise<Listed[]> =>
  (JSON.parse(await fairlead(running.stack, 'token', 'list', cluster, '-o', 'json')) as { tokens: Listed[] }).tokens;

it('a token that was handed out is listed with who used it, and is worth nothing once it is revoked', async () => {
  const invited = await invite(running.stack, 'tokens');
  await using agent = await startLooseAgent(running.stack, { invitation: invited });
  await agent.event('link.established');
  const [used] = await tokensOf('tokens');
  expect(used).toMatchObject({ state: 'used', usedBy: { generation: 1 } });
  const unused = readInvitation(await fairlead(running.stack, 'cluster', 'import', 'tokens'));
  const handedOut = (await tokensOf('tokens')).find(({ state }) => state === 'unused');
  expect(unused.token).toContain(handedOut?.id);
  const listed = await fairlead(running.stack, 'token', 'list', 'tokens', '-o', 'json');
  expect(listed).not.toContain(unused.token.split('.').at(-1));
  await fairlead(running.stack, 'token', 'revoke', 'tokens', handedOut?.id ?? '', '--yes');
  await using late = await startLooseAgent(running.stack, { invitation: unused });
  expect(await late.event('agent.enrolment.failed')).toMatchObject({ code: 'TOKEN_REVOKED', level: 'error' });
  expect((await tokensOf('tokens')).map(({ state }) => state).sort()).toEqual(['revoked', 'used']);
});

describe('an identity that an administrator takes to an agent', () => {
  /** Where to dial, and nothing else: no token, no pins. */
  let address: Invitation;
  let bundle: string;

  beforeAll(async () => {
    await fairlead(running.stack, 'policy', 'set', 'always-reject');
    await fairlead(running.stack, 'cluster', 'create', 'static');
    const made = await issue('static', 'first.json');
    const trusted = { pins: '', trustDomain: 'fairlead.local', token: '' };
    address = { endpoints: made.endpoints.join(','), ...trusted };
    bundle = made.text;
  });

  interface Made {
    readonly endpoints: readonly string[];
    readonly generation: number;
    readonly text: string;
    readonly path: string;
  }

  async function issue(cluster: string, file: string, ...more: string[]): Promise<Made> {
    const path = join(running.stack.stateDir, file);
    const printed = await fairlead(running.stack, 'identity', 'issue', cluster, '--out', path, '-o', 'json', ...more);
    return { ...(JSON.parse(printed) as Made), path, text: await readFile(path, 'utf8') };
  }

  const presenceOf = async (cluster: string): Promise<{ state: string; agents: { instance: string }[] }> =>
    (JSON.parse(await fairlead(running.stack, 'cluster', 'show', cluster, '-o', 'json')) as { presence: never })
      .presence;

  it('needs no token and no approval, and is kept: the agent comes back without the file', async () => {
    const first = await startLooseAgent(running.stack, { invitation: address, bundle: { text: bundle } });
    expect(await first.event('agent.bundle.taken_up')).toMatchObject({ generation: 1 });
    await first.event('link.established');
    const identity = await first.identity();
    await first[Symbol.asyncDispose]();
    expect(first.watch.lines.join()).not.toContain('PRIVATE KEY');
    await using again = await startLooseAgent(running.stack, { invitation: address, identity });
    await again.event('link.established');
    await eventually(async () => expect(await presenceOf('static')).toMatchObject({ state: 'online' }));
    const events = await eventually(async () => {
      const made = (await readEvents(running.stack)).filter(({ data }) => data['tokenId'] === 'static');
      if (made.length === 0) throw new Error('the enrolment left no event yet');
      return made;
    });
    const actor = { kind: 'user', id: 'admin' };
    expect(events).toMatchObject([{ type: 'dev.fairlead.enrolment.succeeded.v1', data: { name: 'static', actor } }]);
  });

  it('shows as two agents when two processes use it', async () => {
    await using one = await startLooseAgent(running.stack, { invitation: address, bundle: { text: bundle } });
    await using two = await startLooseAgent(running.stack, { invitation: address, bundle: { text: bundle } });
    await Promise.all([one.event('link.established'), two.event('link.established')]);
    await eventually(async () =>
      expect(new Set((await presenceOf('static')).agents.map(({ instance }) => instance)).size).toBe(2),
    );
    expect(await fairlead(running.stack, 'cluster', 'show', 'static')).toContain('somebody has a copy of its key');
  });

  it('is refused from a file that others can read', async () => {
    const open = { text: bundle, mode: 0o644 };
    await using agent = await startLooseAgent(running.stack, { invitation: address, bundle: open });
    const failed = await agent.event('agent.enrolment.failed');
    expect(failed).toMatchObject({ code: 'FORBIDDEN', reason: expect.stringContaining('chmod 600') as string });
  });

  it('is no good for an agent whose manifest is of another cluster, neither from a file nor as what it stored', async () => {
    const env = { FAIRLEAD_CLUSTER_ID: crypto.randomUUID() };
    await using given = await startLooseAgent(running.stack, { invitation: address, bundle: { text: bundle }, env });
    const named = { reason: expect.stringContaining(env.FAIRLEAD_CLUSTER_ID) as string };
    expect(await given.event('agent.enrolment.failed')).toMatchObject({ code: 'INVALID_ARGUMENT', ...named });
    const stored = JSON.stringify((JSON.parse(bundle) as { identity: unknown }).identity);
    const identity = JSON.stringify({ identity: stored });
    await using holding = await startLooseAgent(running.stack, { invitation: address, identity, env });
    expect(await holding.event('agent.enrolment.failed')).toMatchObject({ code: 'UNAUTHENTICATED', ...named });
    expect(JSON.parse(await holding.identity())).toMatchObject({ identity: stored });
  });

  it('replaces the agent that the cluster had, which is refused from then on', async () => {
    await using old = await startLooseAgent(running.stack, { invitation: address, bundle: { text: bundle } });
    await old.event('link.established');
    const made = await issue('static', 'second.json', '--yes');
    expect([made.generation, (await stat(made.path)).mode & 0o777]).toEqual([2, 0o600]);
    await using next = await startLooseAgent(running.stack, { invitation: address, bundle: { text: made.text } });
    await next.event('link.established');
    expect(await old.event('link.failed')).toMatchObject({ code: 'CERTIFICATE_REFUSED' });
    await old[Symbol.asyncDispose]();
    // An agent that runs takes up a newer one by itself, once it is refused: at once, or at its next try.
    const third = await issue('static', 'third.json', '--yes');
    await next.replaceBundle(third.text);
    await next.watch.line(/"generation":3.*"agent.bundle.taken_up"/, 120_000);
    await eventually(async () => expect(await presenceOf('static')).toMatchObject({ state: 'online' }));
  });

  it('comes in a manifest that a real API server takes', async () => {
    const { demo } = running.stack;
    if ('unavailable' in demo) throw new Error(demo.unavailable);
    const { path, text } = await issue('static', 'static.yaml', '--manifest', '--yes');
    const secret = parseAllDocuments(text)
      .map((each) => each.toJS() as { kind: string; data?: Record<string, string> })
      .find(({ data }) => data !== undefined);
    expect(Object.keys(secret?.data ?? {})).toEqual(['identity-bundle.json']);
    const apply = [
      '--kubeconfig',
      demo.adminKubeconfigPath,
      'apply',
      '--validate=strict',
      '--dry-run=server',
      '-f',
      path,
    ];
    const applied = await running.stack.kubectl(apply, { timeoutMs: 60_000 });
    expect(applied).toMatchObject({ code: 0, stderr: '' });
  });
});
