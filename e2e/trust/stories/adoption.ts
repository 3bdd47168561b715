import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readEvents } from '../../support/events.js';
import { fairlead } from '../../support/fairlead.js';
import { invite, readAdoption, startLooseAgent, type Invitation } from '../../support/loose-agent.js';
import { sharedStack } from '../../support/shared-stack.js';
import type { TestStack } from '../../support/test-stack.js';

interface Listed {
  readonly id: string;
  readonly fingerprint: string;
  readonly cluster: string | null;
}

let running: TestStack;
let adoption: Invitation;
/** Names a file that is not there: this agent has no token. */
const NO_TOKEN = { FAIRLEAD_ADOPTION: 'true', FAIRLEAD_BOOTSTRAP_TOKEN_FILE: '/nonexistent/token' };

beforeAll(async () => {
  running = sharedStack();
  adoption = readAdoption(await fairlead(running.stack, 'request', 'manifest'));
});
// As it was found.
afterAll(() => fairlead(running.stack, 'policy', 'set', 'inherit'));

/** The request of the agent whose log shows this reason. */
async function requestOf(waiting: Record<string, unknown>): Promise<Listed> {
  const { requests } = JSON.parse(await fairlead(running.stack, 'request', 'list', '-o', 'json')) as {
    requests: Listed[];
  };
  const own = requests.find(({ fingerprint }) => String(waiting['reason']).endsWith(fingerprint));
  if (!own) throw new Error(`no request for ${JSON.stringify(waiting)} among ${JSON.stringify(requests)}`);
  return own;
}

describe('an agent without a token', () => {
  it('is refused by default', async () => {
    await using agent = await startLooseAgent(running.stack, { invitation: adoption, env: NO_TOKEN });
    expect(await agent.event('agent.enrolment.failed')).toMatchObject({ code: 'UNAUTHENTICATED', level: 'error' });
    expect(await fairlead(running.stack, 'request', 'list', '-o', 'name')).toBe('');
  });

  it('waits for an administrator, keeps its place over a restart, and becomes the cluster it is said to be', async () => {
    expect(await fairlead(running.stack, 'policy', 'set', 'queue')).toBe('queue\n');
    const first = await startLooseAgent(running.stack, { invitation: adoption, env: NO_TOKEN });
    const request = await requestOf(await first.event('agent.enrolment.waiting'));
    expect(request.cluster).toBeNull();
    const identity = await first.identity();
    await first[Symbol.asyncDispose]();
    await fairlead(running.stack, 'request', 'approve', request.id, '--cluster', 'adopted');
    await using second = await startLooseAgent(running.stack, { invitation: adoption, env: NO_TOKEN, identity });
    await second.event('link.established');
    await eventually(async () => {
      const show = JSON.parse(await fairlead(running.stack, 'cluster', 'show', 'adopted', '-o', 'json')) as unknown;
      expect(show).toMatchObject({ generation: 1, presence: { state: 'online' } });
    });
    const types = await eventually(async () => {
      const seen = (await readEvents(running.stack)).map(({ type }) => type);
      if (!seen.includes('dev.fairlead.enrolment.approved.v1')) throw new Error('the approval left no event yet');
      return seen;
    });
    expect(types).toContain('dev.fairlead.enrolment.requested.v1');
  });

  it('is told when it is rejected, and asks rarely from then on', async () => {
    await using agent = await startLooseAgent(running.stack, { invitation: adoption, env: NO_TOKEN });
    const request = await requestOf(await agent.event('agent.enrolment.waiting'));
    await fairlead(running.stack, 'request', 'reject', request.id, '--reason', 'not one of ours');
    expect(await agent.event('agent.enrolment.failed')).toMatchObject({
      code: 'ENROLMENT_REJECTED',
      reason: expect.stringContaining('not one of ours') as string,
    });
  });
});

it('a token waits as well where the policy of its cluster says so', async () => {
  const invited = await invite(running.stack, 'checked');
  await fairlead(running.stack, 'policy', 'set', 'queue', '--cluster', 'checked');
  const first = await startLooseAgent(running.stack, { invitation: invited });
  const request = await requestOf(await first.event('agent.enrolment.waiting'));
  expect(request.cluster).toBe('checked');
  const identity = await first.identity();
  await first[Symbol.asyncDispose]();
  await fairlead(running.stack, 'request', 'approve', request.id);
  await using second = await startLooseAgent(running.stack, { invitation: invited, identity });
  await second.event('link.established');
});
