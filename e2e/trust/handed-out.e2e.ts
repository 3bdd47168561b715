import { afterAll, beforeAll, expect, it } from 'vitest';
import { invite, readInvitation, startLooseAgent } from '../support/loose-agent.js';
import { startTestStack, type TestStack } from '../support/test-stack.js';

let running: TestStack;

beforeAll(async () => {
  running = await startTestStack();
});
afterAll(() => running?.[Symbol.asyncDispose]());

async function fairlead(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await running.stack.cli(args);
  if (code !== 0) throw new Error(`fairlead ${args.join(' ')}: ${stderr}`);
  return stdout;
}

interface Listed {
  readonly id: string;
  readonly state: string;
  readonly usedBy: { readonly fingerprint: string; readonly generation: number } | null;
}

const tokensOf = async (cluster: string): Promise<Listed[]> =>
  (JSON.parse(await fairlead('token', 'list', cluster, '-o', 'json')) as { tokens: Listed[] }).tokens;

it('a token that was handed out is listed with who used it, and is worth nothing once it is revoked', async () => {
  const invited = await invite(running.stack, 'tokens');
  await using agent = await startLooseAgent(running.stack, { invitation: invited });
  await agent.event('link.established');
  const [used] = await tokensOf('tokens');
  expect(used).toMatchObject({ state: 'used', usedBy: { generation: 1 } });
  const unused = readInvitation(await fairlead('cluster', 'import', 'tokens'));
  const handedOut = (await tokensOf('tokens')).find(({ state }) => state === 'unused');
  expect(unused.token).toContain(handedOut?.id);
  const listed = await fairlead('token', 'list', 'tokens', '-o', 'json');
  expect(listed).not.toContain(unused.token.split('.').at(-1));
  await fairlead('token', 'revoke', 'tokens', handedOut?.id ?? '', '--yes');
  await using late = await startLooseAgent(running.stack, { invitation: unused });
  expect(await late.event('agent.enrolment.failed')).toMatchObject({ code: 'TOKEN_REVOKED', level: 'error' });
  expect((await tokensOf('tokens')).map(({ state }) => state).sort()).toEqual(['revoked', 'used']);
});
