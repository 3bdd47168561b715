import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createCsr, generatePrivateKey } from '@fairlead/pki';
import { eventually, scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isGenuine, startApprovalProgram, type ApprovalProgram, type Verdict } from '../support/approval-program.js';
import { fairlead } from '../support/fairlead.js';
import { connectLink, type LinkClient } from '../support/link-client.js';
import { readAdoption, startLooseAgent } from '../support/loose-agent.js';
import { secretScan } from '../support/secret-scan/index.js';
import { startTestStack, type TestStack } from '../support/test-stack.js';

const SECRET = randomBytes(32).toString('base64url');
/** What the control plane waits for an answer, and how much more a busy machine may take. */
const [PATIENCE_MS, SLACK_MS] = [5_000, 40_000];

let scratch: ScratchDir;
let program: ApprovalProgram;
let running: TestStack;
let client: LinkClient;

/** As an agent does it: whom a busy gateway told that it took too long, asks again. */
async function enrol(csrDer: Uint8Array): ReturnType<LinkClient['enrol']> {
  const attempt = { tokenId: '', secret: new Uint8Array(), csrDer };
  const answer = await client.enrol(attempt);
  return 'code' in answer && answer.code === 'DEADLINE_EXCEEDED' ? client.enrol(attempt) : answer;
}

beforeAll(async () => {
  scratch = await scratchDir();
  program = await startApprovalProgram(SECRET);
  secretScan.issued.add('the secret of the approval webhook', SECRET);
  await writeFile(scratch.file('secret'), SECRET, { mode: 0o600 });
  const registration = {
    FAIRLEAD_APPROVAL_POLICY: 'webhook',
    FAIRLEAD_APPROVAL_WEBHOOK_URL: program.url,
    FAIRLEAD_APPROVAL_WEBHOOK_SECRET_FILE: scratch.file('secret'),
  };
  running = await startTestStack({ demo: false, env: { registration } });
});
afterAll(async () => {
  await running?.[Symbol.asyncDispose]();
  await program?.[Symbol.asyncDispose]();
  await scratch?.[Symbol.asyncDispose]();
});
// One for each test: after a minute the gateway ends a connection that is no link.
beforeEach(async () => {
  client = await connectLink(running.stack.gateways[0]?.linkAddress ?? '');
});
afterEach(() => {
  client?.[Symbol.dispose]();
});

/** What registration logged about questions without a clear answer, one reason each. */
async function failures(): Promise<string[]> {
  const log = await readFile(running.stack.process('registration').logPath, 'utf8');
  const lines = log.split('\n').filter((line) => line.includes('"event":"approval.webhook.failed"'));
  return lines.map((line) => (JSON.parse(line) as { reason: string }).reason);
}

const answerWith =
  (status: number, body: string, headers: Record<string, string> = {}): Verdict =>
  (answer) =>
    void answer.writeHead(status, headers).end(body);

/** Each of them would let the agent in, or turn it away, if it were taken for an answer. */
const UNCLEAR: readonly (readonly [string, Verdict, RegExp])[] = [
  ['is silent', () => undefined, /timeout|aborted/i],
  ['fails', answerWith(500, '{"decision":"approve","cluster":"let-in"}'), /answered 500/],
  ['answers what is no JSON', answerWith(200, '<html>approve</html>'), /JSON/],
  ['answers a decision that there is none of', answerWith(200, '{"decision":"approved"}'), /decision/],
  ['approves no cluster in particular', answerWith(200, '{"decision":"approve"}'), /say which cluster/],
  ['never ends its answer', (answer) => void answer.writeHead(200).write('{"decision":'), /timeout|aborted/i],
  [
    'answers far too much',
    answerWith(200, `{"decision":"approve","cluster":"let-in"}${' '.repeat(65_536)}`),
    /larger than/,
  ],
  ['sends the question elsewhere', answerWith(307, '', { location: 'http://127.0.0.1:1/' }), /./],
];

/** The last one, once there are more than so many. */
function failureAfter(count: number): Promise<string | undefined> {
  return eventually(async () => {
    const all = await failures();
    if (all.length === count) throw new Error('nothing was logged');
    return all.at(-1);
  });
}

describe('an approval program that gives no clear answer', () => {
  it.each(UNCLEAR)('because it %s lets nobody in and turns nobody away', async (_, verdict, reason) => {
    program.verdict = verdict;
    const before = (await failures()).length;
    const csrDer = await createCsr(await generatePrivateKey());
    const beganMs = performance.now();
    expect(await enrol(csrDer)).toMatchObject({ code: 'ENROLMENT_PENDING' });
    expect(performance.now() - beganMs).toBeLessThan(PATIENCE_MS + SLACK_MS);
    expect(await failureAfter(before)).toMatch(reason);
    expect(await fairlead(running.stack, 'cluster', 'list', '-o', 'name')).toBe('');
  });

  it('because its secret is another is told so by its own check, and decides nothing', async () => {
    program.verdict = answerWith(200, '{"decision":"approve","cluster":"let-in"}');
    program.secret = 'another secret that is as long as it should be';
    const before = (await failures()).length;
    const csrDer = await createCsr(await generatePrivateKey());
    expect(await enrol(csrDer)).toMatchObject({ code: 'ENROLMENT_PENDING' });
    expect(await failureAfter(before)).toMatch(/answered 401/);
    program.secret = SECRET;
    expect(await enrol(csrDer)).toMatchObject({ generation: 1 });
    await fairlead(running.stack, 'cluster', 'delete', 'let-in', '--yes');
  });
});

it('a question that was changed, or that somebody repeats later, is not taken for genuine', async () => {
  program.verdict = answerWith(500, '');
  const csrDer = await createCsr(await generatePrivateKey());
  await client.enrol({ tokenId: '', secret: new Uint8Array(), csrDer });
  const { signature, body } = program.last;
  const [seconds = ''] = /\d+/.exec(signature) ?? [];
  const laterMs = Date.now() + 600_000;
  expect(isGenuine(SECRET, signature, body)).toBe(true);
  expect(isGenuine(SECRET, signature, body.replace('"cluster":null', '"cluster":"demo"'))).toBe(false);
  expect(isGenuine(SECRET, signature, body, laterMs)).toBe(false);
  expect(isGenuine(SECRET, signature.replace(seconds, String(Number(seconds) + 600)), body, laterMs)).toBe(false);
});

it('an agent waits politely while the program is silent, and is let in once it answers', async () => {
  program.verdict = () => undefined;
  const invitation = readAdoption(await fairlead(running.stack, 'request', 'manifest'));
  const env = { FAIRLEAD_ADOPTION: 'true', FAIRLEAD_BOOTSTRAP_TOKEN_FILE: '/nonexistent/token' };
  const asked = program.asked;
  await using agent = await startLooseAgent(running.stack, { invitation, env });
  await agent.event('agent.enrolment.waiting');
  expect(program.asked).toBe(asked + 1);
  program.verdict = answerWith(200, '{"decision":"approve","cluster":"patient"}');
  // By itself, when it asks again: not sooner than 15 s after the first time, and not later than 45 s.
  await agent.event('link.established', 90_000);
  expect(program.asked).toBe(asked + 2);
  expect(agent.watch.lines.filter((line) => line.includes('agent.enrolment.failed'))).toEqual([]);
  expect(await fairlead(running.stack, 'cluster', 'list', '-o', 'name')).toBe('patient\n');
});
