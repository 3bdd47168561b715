import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommandOutput, Stack } from '@fairlead/stack';
import { startDemoIssuer, type DemoIssuer, type DemoUser } from '@fairlead/stack/demo-issuer';
import { HeadlessBrowser, eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fairlead } from '../support/fairlead.js';
import { https } from '../support/https.js';
import { secretScan } from '../support/secret-scan/index.js';
import { kubectl, startTestStack, whoHoldsTheLink, type TestStack } from '../support/test-stack.js';
import { newcomer, personOf, serverOf, succeeds, type Command, type Person } from './person.js';

/** As short as the setting allows. The command renews it when a fifth of that is left. */
const LOGIN_SECONDS = 60;
const RENEWED_AFTER_MS = LOGIN_SECONDS * 800;
const SEEN_WITHIN_MS = 20_000;
/** From a logout until no door takes what was got by the login. */
const ENDED_WITHIN_MS = 2_000;
const GATEWAYS = ['gateway-a', 'gateway-b'];
const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'hello' },
  spec: { containers: [{ name: 'c', image: 'i' }] },
};

/** Whom the issuer knows: it looks at each login and at each renewal. */
const users: DemoUser[] = [
  { name: 'dana', title: 'a developer', groups: ['developers'] },
  { name: 'otto', title: 'a developer', groups: ['developers', 'on-call'] },
];
let issuer: DemoIssuer;
let running: TestStack;
let stack: Stack;
/** Of two gateways, the one that asks the other for the cluster. */
let withoutLink: string;
let dana: Command;
let otto: Command;
let danaAtCluster: Person;
let ottoAtCluster: Person;

beforeAll(async () => {
  issuer = await startDemoIssuer({ users });
  running = await startTestStack({ env: { access: { FAIRLEAD_LOGIN_SECONDS: String(LOGIN_SECONDS) } } });
  ({ stack } = running);
  ({ other: withoutLink } = await whoHoldsTheLink(stack));
  await kubectl(stack, withoutLink, ['create', '-f', '-'], JSON.stringify(POD));
});
afterAll(async () => {
  await running?.[Symbol.asyncDispose]();
  await issuer?.[Symbol.asyncDispose]();
});

/** What the command keeps of a login, all of whose secrets must be shown nowhere. */
interface Kept {
  readonly token: string;
  readonly issued: {
    readonly obtainedAt: string;
    readonly expiresAt: string;
    readonly session: string;
    readonly refreshToken: string;
  };
}

async function keptBy({ home }: Command): Promise<Kept> {
  const kept = JSON.parse(await readFile(join(home, 'fairlead', 'config.json'), 'utf8')) as Kept;
  const { token, issued } = kept;
  for (const [name, secret] of Object.entries({ token, session: issued.session, refreshToken: issued.refreshToken })) {
    secretScan.issued.add(`the ${name} of a login in ${home}`, secret);
  }
  return kept;
}

const refused = (pattern: RegExp): CommandOutput =>
  expect.objectContaining({ code: 1, stderr: expect.stringMatching(pattern) as string }) as CommandOutput;

/** Somebody at a desk: what their desktop is asked to open stands in `opened`. */
async function atDesk(name: string): Promise<{ readonly command: Command; readonly opened: () => Promise<string> }> {
  const desk = join(stack.stateDir, `desk-of-${name}`);
  await mkdir(desk);
  await writeFile(join(desk, 'xdg-open'), `#!/bin/sh\nprintf '%s\\n' "$1" >> '${desk}/opened'\n`, { mode: 0o755 });
  const command = await newcomer(stack, name, { DISPLAY: ':0', PATH: `${desk}:${process.env.PATH}` });
  const opened = async (): Promise<string> => {
    const [url, end] = (await readFile(join(desk, 'opened'), 'utf8')).split('\n');
    if (url === undefined || end === undefined) throw new Error('nothing was opened yet');
    return url;
  };
  return { command, opened };
}

/** With what kubectl is given, sent as it sends it. */
async function credentialOf(command: Command): Promise<string> {
  const shown = await succeeds(command.fairlead('credential', '--cluster', 'demo'));
  const { token } = (JSON.parse(shown) as { status: { token: string } }).status;
  // The statement behind the tilde is no secret.
  secretScan.issued.add(`the token in a credential of ${command.home}`, token.split('~')[0] ?? '');
  return token;
}

const door = (gateway: string): string =>
  `${stack.gateways.find(({ name }) => name === gateway)?.doorUrl}/clusters/demo/api/v1/namespaces/default`;

async function statusOf(gateway: string, credential: string): Promise<number> {
  const headers = { authorization: `Bearer ${credential}` };
  return (await https(stack, `${door(gateway)}/pods`, { headers })).status;
}

/** When the last request began that was let in, by this process's clock: how long answers take is no matter. */
async function lastLetInMs(gateway: string, credential: string): Promise<number> {
  let lastMs = 0;
  await eventually(async () => {
    const begunMs = performance.now();
    const status = await statusOf(gateway, credential);
    if (status === 200) lastMs = begunMs;
    expect(status).toBe(401);
  });
  return lastMs;
}

/** At the issuer, as the administrator sees them. */
async function groupsOf(user: string): Promise<string | undefined> {
  const line = (await fairlead(stack, 'user', 'list')).split('\n').find((each) => each.startsWith(`${user} `));
  return line?.split(/ {2,}/)[3];
}

it('an administrator adds an issuer and grants one of its groups to look', async () => {
  await fairlead(stack, 'issuer', 'add', 'corp', '--url', issuer.url, '--client-id', issuer.clientId, '--device-code');
  const who = ['--group', 'corp:developers', '--role', 'view', '--cluster', 'demo', '--for', '1h'];
  await fairlead(stack, 'grant', 'create', ...who, '--reason', 'all developers may look');
  expect(await fairlead(stack, 'grant', 'list', '--cluster', 'demo')).toMatch(/corp:developers .*view/);
});

it('somebody logs in with a real browser, and somebody else by a code in another one', async () => {
  const desk = await atDesk('dana');
  dana = desk.command;
  await using browser = await HeadlessBrowser.start();
  await using login = dana.begin('login', ...serverOf(stack), '--issuer', 'corp');
  await browser.open(await eventually(desk.opened, { timeoutMs: SEEN_WITHIN_MS }));
  await browser.press('dana');
  await browser.read('Fairlead has your answer');
  await login.line(/^logged in to https:\S+ as corp:dana$/, SEEN_WITHIN_MS);
  await login.ended(SEEN_WITHIN_MS);

  otto = await newcomer(stack, 'otto');
  await using byCode = otto.begin('login', ...serverOf(stack), '--issuer', 'corp', '--device');
  const shown = await byCode.line(/user_code=/, SEEN_WITHIN_MS);
  await browser.open(/open (\S+user_code=\S+) /.exec(shown)?.[1] ?? '');
  await browser.press('The terminal shows this code');
  await browser.press('otto');
  await browser.read('You are logged in');
  await byCode.line(/^logged in to https:\S+ as corp:otto$/, SEEN_WITHIN_MS);
  await byCode.ended(SEEN_WITHIN_MS);
  for (const { lines } of [login, byCode]) secretScan.hear('what a login said', lines.join('\n'));
  expect(await groupsOf('corp:dana')).toBe('corp:developers');
  expect(await groupsOf('corp:otto')).toBe('corp:developers, corp:on-call');
});

it('with a kubeconfig of their own they look, through the replica that has no link, and write nothing', async () => {
  [danaAtCluster, ottoAtCluster] = await Promise.all([personOf(stack, dana), personOf(stack, otto)]);
  for (const person of [danaAtCluster, ottoAtCluster]) {
    expect(await succeeds(person.kubectl(withoutLink, 'get', 'pods', '-o', 'name'))).toBe('pod/hello\n');
    expect(await person.kubectl(withoutLink, 'delete', 'pod', 'hello')).toEqual(
      refused(/^Error from server \(Forbidden\): /m),
    );
  }
  const headers = { authorization: `Bearer ${await credentialOf(dana)}` };
  const { status, body } = await https(stack, `${door(withoutLink)}/pods/hello`, { method: 'DELETE', headers });
  expect([status, JSON.parse(body)]).toEqual([
    403,
    expect.objectContaining({ kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403 }),
  ]);
});

it('a login is renewed by the next kubectl, with the groups of then: who left the group gets in no more', async () => {
  const [first, ottosFirst] = await Promise.all([keptBy(dana), keptBy(otto)]);
  users.splice(1, 1, { name: 'otto', title: 'on call', groups: ['on-call'] });
  const begun = Math.max(...[first, ottosFirst].map(({ issued }) => Date.parse(issued.obtainedAt)));
  // Nobody who holds a token is asked again before.
  await succeeds(ottoAtCluster.kubectl(withoutLink, 'get', 'pods'));
  await eventually(() => expect(Date.now()).toBeGreaterThan(begun + RENEWED_AFTER_MS), {
    timeoutMs: RENEWED_AFTER_MS + SEEN_WITHIN_MS,
    intervalMs: 500,
  });
  expect(await succeeds(danaAtCluster.kubectl(withoutLink, 'get', 'pods', '-o', 'name'))).toBe('pod/hello\n');
  const next = await keptBy(dana);
  expect(Date.parse(next.issued.obtainedAt)).toBeGreaterThan(Date.parse(first.issued.obtainedAt));
  expect(next.token).not.toBe(first.token);
  expect(next.issued.session).toBe(first.issued.session);

  for (const gateway of GATEWAYS) {
    const look = (): Promise<CommandOutput> => ottoAtCluster.kubectl(gateway, 'get', 'pods');
    const shutOut = refused(/there is no cluster .*demo/);
    await eventually(async () => expect(await look()).toEqual(shutOut), { timeoutMs: SEEN_WITHIN_MS });
  }
  expect((await keptBy(otto)).token).not.toBe(ottosFirst.token);
  expect(await groupsOf('corp:otto')).toBe('corp:on-call');
});

it('after a logout what was got by the login is worth nothing at any replica', async () => {
  const [credential, { issued }] = [await credentialOf(dana), await keptBy(dana)];
  for (const gateway of GATEWAYS) expect(await statusOf(gateway, credential)).toBe(200);
  expect(await succeeds(dana.fairlead('logout'))).toBe('logged out\n');
  const endedMs = performance.now();
  for (const letInMs of await Promise.all(GATEWAYS.map((gateway) => lastLetInMs(gateway, credential)))) {
    expect(letInMs - endedMs).toBeLessThan(ENDED_WITHIN_MS);
  }
  // It did not end by itself.
  expect(Date.now()).toBeLessThan(Date.parse(issued.expiresAt));
  expect(await danaAtCluster.kubectl(withoutLink, 'get', 'pods')).toEqual(refused(/fairlead login/));
  const grant = { grant_type: 'refresh_token', client_id: issuer.clientId, refresh_token: issued.refreshToken };
  const again = await fetch(`${issuer.url}/token`, { method: 'POST', body: new URLSearchParams(grant) });
  expect([again.status, await again.json()]).toEqual([400, expect.objectContaining({ error: 'invalid_grant' })]);
});
