import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import type { Issuer } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { startDemoIssuer, type DemoIssuer, type DemoUser } from '@fairlead/stack/demo-issuer';
import { freePort } from '@fairlead/testbed';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { issuerAs } from '../testing/demo-issuer.js';
import type { CliResult, CliRunOptions } from '../testing/cli-runner.js';
import { cliScene } from '../testing/logged-in.js';
import { ScriptedBrowser, type Page } from '../testing/scripted-browser.js';

const scene = cliScene();
const users: DemoUser[] = [];
const asked: string[] = [];
let issuer: DemoIssuer;

beforeAll(async () => {
  issuer = await startDemoIssuer({ users, onRequest: (method, path) => void asked.push(`${method} ${path}`) });
});
afterAll(() => issuer?.[Symbol.asyncDispose]());

beforeEach(() => {
  const { script } = scene.api;
  users.splice(0, users.length, { name: 'dana', title: 'a developer', groups: ['developers'] });
  asked.length = 0;
  script.issuers.clear();
  script.issuers.set('demo', issuerOf('demo'));
  script.logins = [];
  Object.assign(script, { loginFailure: undefined, loginSeconds: 900, sessionSeconds: 604_800 });
});

const issuerOf = (name: string, more: Partial<Issuer> = {}): Issuer => issuerAs(name, issuer, more);

const server = (): string[] => ['--server', scene.api.url, '--ca-file', scene.caFile];
const AT_TERMINAL = { terminal: true, env: { DISPLAY: ':0' } } as const;

/** Logs in by the browser that the command opens, in which somebody presses this. */
async function logIn(
  button = 'dana',
  args = server(),
  options: CliRunOptions = {},
): Promise<CliResult & { page?: Page }> {
  let page: Promise<Page> | undefined;
  const browser = (url: string): void => {
    page = atIssuer(url, button);
  };
  const result = await scene.fairlead(['login', ...args], { ...AT_TERMINAL, browser, ...options });
  return { ...result, ...(page ? { page: await page } : {}) };
}

async function atIssuer(url: string, button: string): Promise<Page> {
  const browser = new ScriptedBrowser();
  return browser.press(await browser.open(url), button);
}

const stored = async (): Promise<Record<string, unknown>> =>
  JSON.parse(await readFile(`${scene.home}/config.json`, 'utf8')) as Record<string, unknown>;

const issued = async (): Promise<Record<string, unknown>> => (await stored())['issued'] as Record<string, unknown>;

/** The command, as if so many seconds from now. */
function later(seconds: number, ...args: string[]): Promise<CliResult> {
  return scene.fairlead(args, { now: () => new Date(Date.now() + seconds * 1_000) });
}

async function tokenOf(result: Promise<CliResult>): Promise<string> {
  const { out, err } = await result;
  if (out === '') throw new Error(err);
  return (JSON.parse(out) as { status: { token: string } }).status.token;
}

const renewals = (): number => asked.filter((each) => each === 'POST /token').length;

describe('a login in the browser', () => {
  it('ends with a short login that says whose it is and until when', async () => {
    const { status, out, err, page } = await logIn();
    expect([status, out]).toEqual([0, `logged in to ${scene.api.url} as demo:dana\n`]);
    expect(err).toContain('opening the browser to log in at demo');
    expect(page).toMatchObject({ status: 200, html: expect.stringContaining('Fairlead has your answer') as string });
    expect(page?.html).not.toMatch(/src=|href=|http/);
    expect(page?.headers.get('content-security-policy')).toContain("default-src 'none'");
    const who = await scene.fairlead(['whoami']);
    expect(who.out).toMatch(/user: demo:dana\n.*\nlogged in: at demo \(http:.*\nuntil: .* renewed by itself/);
    const { login } = JSON.parse((await scene.fairlead(['whoami', '-o', 'json'])).out) as { login: object };
    expect(login).toMatchObject({ issuer: 'demo', renewed: true });
    // The server and what is trusted there are those of the last login.
    expect(await logIn('dana', [])).toMatchObject({ status: 0 });
  });

  it('is had with PKCE, a state, a nonce that is a hash, and nothing secret in a URL or log', async () => {
    let shown = '';
    await logIn('dana', server(), { browser: (url) => void atIssuer((shown = url), 'dana') });
    const parameters = new URL(shown).searchParams;
    expect(Object.fromEntries(parameters)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/) as string,
      nonce: expect.stringMatching(/^[\w-]{43}$/) as string,
      redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/) as string,
    });
    const { token } = await stored();
    const { session, refreshToken } = await issued();
    const said = [...scene.api.logLines, ...asked, shown].join('\n');
    for (const secret of [token, session, refreshToken]) {
      expect(String(secret).length).toBeGreaterThan(16);
      expect(said).not.toContain(String(secret));
    }
  });

  it('takes no answer of another login, from another name, to another place, and none after its own', async () => {
    const seen: number[] = [];
    let callback = new URL('http://unset');
    const { status, err } = await logIn('dana', server(), {
      browser: (url) => void foreignFirst(url, seen).then((found) => (callback = found)),
    });
    expect([status, seen]).toEqual([0, [400, 404, 405, 421]]);
    expect(err).toContain('a page answered that does not belong to this login');
    await expect(fetch(callback)).rejects.toThrow('fetch failed');
  });

  it('says no where somebody says no', async () => {
    const { status, err, page } = await logIn('none of these');
    expect([status, page?.html]).toEqual([1, expect.stringContaining('You were not logged in')]);
    expect(err).toContain('error: demo did not log you in: access_denied (nobody was chosen)\nnext: fairlead login\n');
    await expect(stored()).rejects.toThrow('ENOENT');
  });

  it('needs the API to take it', async () => {
    scene.api.script.loginFailure = new FairleadError(
      'UNAUTHENTICATED',
      'the token of the issuer is not taken: it is late',
    );
    const { status, err } = await logIn();
    expect([status, err]).toEqual([
      1,
      expect.stringContaining(
        'error: the token of the issuer is not taken: it is late\nnext: log in again: fairlead login\n',
      ),
    ]);
  });

  it('is at the issuer that is named, where there are several', async () => {
    scene.api.script.issuers.set('corp', issuerOf('corp'));
    expect(await logIn()).toMatchObject({
      status: 2,
      err: expect.stringContaining('next: add --issuer, one of: demo, corp') as string,
    });
    expect(await logIn('dana', [...server(), '--issuer', 'corp'])).toMatchObject({
      status: 0,
      out: expect.stringContaining('corp:dana') as string,
    });
    expect(await logIn('dana', [...server(), '--issuer', 'none'])).toMatchObject({
      status: 1,
      err: expect.stringContaining('use one of: demo, corp') as string,
    });
  });

  it('says which issuer is away, or is none', async () => {
    const at = async (url: string): Promise<string> => {
      scene.api.script.issuers.set('demo', issuerOf('demo', { url }));
      return (await logIn()).err;
    };
    const closed = `http://127.0.0.1:${await freePort()}`;
    expect(await at(closed)).toContain(`error: cannot reach ${closed}: nothing listens there`);
    expect(await at(scene.api.url)).toContain(
      'not trusted here\nnext: ask an administrator of this installation to look at the issuer',
    );
    expect(await at(`${issuer.url}/elsewhere`)).toContain('error: demo answers otherwise than an issuer should');
    expect(await at('http://issuer.example')).toContain(
      'error: the issuer demo is at http://issuer.example, which is not https://',
    );
  });
});

/** What others send to the port that waits; then the right answer. */
async function foreignFirst(url: string, seen: number[]): Promise<URL> {
  const callback = new URL(new URL(url).searchParams.get('redirect_uri') ?? '');
  const state = new URL(url).searchParams.get('state') ?? '';
  const query = (ours: string): string => `?code=stolen&state=${ours}`;
  seen.push((await fetch(`${callback.href}${query('another')}`, { redirect: 'error' })).status);
  seen.push((await fetch(`${callback.origin}/${query(state)}`)).status);
  seen.push((await fetch(`${callback.href}${query(state)}`, { method: 'POST' })).status);
  seen.push(await statusAs('evil.example', `${callback.href}${query(state)}`));
  await atIssuer(url, 'dana');
  return callback;
}

/** `fetch` has the Host of the URL, whatever one says. */
async function statusAs(host: string, url: string): Promise<number> {
  const [response] = (await once(get(url, { headers: { host } }), 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode ?? 0;
}

describe('a login by a code', () => {
  const byCode = async (button: string): Promise<CliResult> => {
    const login = scene.fairlead(['login', ...server(), '--device'], { onStderr: (text) => shown.push(text) });
    const shown: string[] = [];
    const address = await vi.waitUntil(() => /open (\S+user_code=\S+) and compare/.exec(shown.join(''))?.[1], {
      timeout: 60_000,
    });
    const browser = new ScriptedBrowser();
    const confirm = await browser.press(await browser.open(address), 'Continue');
    await browser.press(await browser.press(confirm, 'The terminal shows this code'), button);
    return login;
  };

  it('needs no browser here', async () => {
    const { status, out, err } = await byCode('dana');
    expect([status, out]).toEqual([0, `logged in to ${scene.api.url} as demo:dana\n`]);
    expect(err).toMatch(/\/device and enter the code\n\n {2}[A-Z]{4}-[A-Z]{4}\n/);
    expect(await tokenOf(later(800, 'credential'))).not.toBe(undefined);
  });

  it('is refused where somebody says no, and where the issuer is not trusted with it', async () => {
    expect(await byCode('none of these')).toMatchObject({
      status: 1,
      err: expect.stringContaining('error: demo refuses: access_denied') as string,
    });
    scene.api.script.issuers.set('demo', issuerOf('demo', { deviceCode: false }));
    const { status, err } = await scene.fairlead(['login', ...server(), '--device']);
    expect([status, err]).toEqual([1, expect.stringContaining('logins by code are not allowed at demo')]);
  });
});

describe('a login that is about to end', () => {
  it('is renewed by whatever command comes next, with the groups that its user has by then', async () => {
    await logIn();
    const first = await tokenOf(later(0, 'credential'));
    expect([await tokenOf(later(700, 'credential')), renewals()]).toEqual([first, 1]);
    users.splice(0, 1, { name: 'dana', title: 'on call', groups: ['developers', 'on-call'] });
    const [before, second] = [await issued(), await tokenOf(later(800, 'credential'))];
    expect([second === first, renewals()]).toEqual([false, 2]);
    expect(scene.api.script.users.get(second)?.subjectGroups).toEqual(['demo:developers', 'demo:on-call']);
    const after = await issued();
    expect(after['session']).toBe(before['session']);
    expect(after['refreshToken']).not.toBe(before['refreshToken']);
    expect((await stat(`${scene.home}/config.json`)).mode & 0o777).toBe(0o600);
    expect((await later(1_600, 'whoami')).out).toContain('user: demo:dana');
    expect(renewals()).toBe(3);
  });

  it('is renewed once by many processes at once, also when its token has ended', async () => {
    await logIn();
    for (const seconds of [800, 2_000]) {
      if (seconds > 900) scene.api.script.loginSeconds = 7_200;
      const before = renewals();
      const tokens = await Promise.all(Array.from({ length: 6 }, () => tokenOf(later(seconds, 'credential'))));
      // Those that did not wait went on with the one that was good.
      const stale = seconds < 900 ? 2 : 1;
      expect(new Set(tokens).size).toBeLessThanOrEqual(stale);
      expect(renewals()).toBe(before + 1);
      expect(tokens).toContain((await stored())['token']);
    }
  });

  it('is used to its end where the issuer has forgotten its user, and then asks for another login', async () => {
    await logIn();
    const first = await tokenOf(later(0, 'credential'));
    users.length = 0;
    const kept = await later(800, 'credential');
    expect(kept.err).toMatch(/the login was not renewed, and ends .*: demo refuses: invalid_grant/);
    expect([await tokenOf(later(800, 'credential')), renewals()]).toEqual([first, 2]);
    const ended = await later(1_000, 'credential');
    expect([ended.status, ended.out, ended.err.split('\n').slice(1)]).toEqual([
      1,
      '',
      ['next: fairlead login --issuer demo', ''],
    ]);
    expect(ended.err).toContain('error: your login to https://');
  });

  it('ends where the API does not renew it any more', async () => {
    await logIn();
    scene.api.script.logins = [];
    const { status, err } = await later(1_000, 'whoami');
    expect([status, err]).toEqual([
      1,
      expect.stringMatching(/ended .*there is no such session\nnext: fairlead login --issuer demo\n$/),
    ]);
  });

  it('is used to its end while the issuer is away, which is asked only now and then, and renewed when that is back', async () => {
    await logIn();
    await issuerAt(`http://127.0.0.1:${await freePort()}`);
    // Three seconds count here, which a busy machine may take for a command.
    const loggedInMs = Date.now();
    const at = (seconds: number): Promise<CliResult> =>
      scene.fairlead(['credential'], { now: () => new Date(loggedInMs + seconds * 1_000) });
    expect((await at(800)).err).toContain('the login was not renewed');
    expect((await at(810)).err).toBe('');
    const ended = await at(1_000);
    expect([ended.status, ended.err]).toEqual([
      1,
      expect.stringMatching(/cannot be renewed now: cannot reach .*nothing listens there\nnext: try again/),
    ]);
    await issuerAt(issuer.url);
    expect((await at(1_001)).err).toContain('that failed a moment ago');
    expect(await at(1_005)).toMatchObject({ status: 0, err: '' });
  });
});

/** Has the login go on at another address of its issuer. */
async function issuerAt(url: string): Promise<void> {
  const login = (await stored()) as { issued: { issuer: object } };
  const issued = { ...login.issued, issuer: { ...login.issued.issuer, url } };
  await writeFile(`${scene.home}/config.json`, JSON.stringify({ ...login, issued }));
}

describe('logout', () => {
  it('ends the login at the server and at the issuer', async () => {
    await logIn();
    const { issued: kept } = (await stored()) as { issued: { refreshToken: string } };
    expect(await scene.fairlead(['logout'])).toMatchObject({ status: 0, out: 'logged out\n', err: '' });
    expect([scene.api.script.logins, asked.at(-1)]).toEqual([[], 'POST /token/revocation']);
    const grant = { grant_type: 'refresh_token', client_id: issuer.clientId, refresh_token: kept.refreshToken };
    expect((await fetch(`${issuer.url}/token`, { method: 'POST', body: new URLSearchParams(grant) })).status).toBe(400);
    expect((await scene.fairlead(['whoami'])).err).toContain('you are not logged in');
  });

  it('forgets the login and says so where a server cannot be told', async () => {
    await logIn();
    const login = await stored();
    await writeFile(`${scene.home}/config.json`, JSON.stringify({ ...login, server: 'https://127.0.0.1:1' }));
    const { status, out, err } = await scene.fairlead(['logout']);
    expect([status, out, err]).toEqual([
      1,
      'logged out\n',
      expect.stringMatching(/^warning: it ends at https:\/\/127\.0\.0\.1:1 only .*: cannot reach/),
    ]);
    expect((await scene.fairlead(['logout'])).out).toBe('there was no login\n');
  });
});

it('an API token is asked for at a terminal where there is no issuer, and is not of one', async () => {
  scene.api.script.issuers.clear();
  const typed = await scene.fairlead(['login', ...server()], { terminal: true, stdin: `${scene.api.script.token}\r` });
  expect(typed).toMatchObject({ status: 0, out: expect.stringContaining('as admin') as string });
  expect((await scene.fairlead(['whoami'])).out).toContain('logged in: with an API token');
  const both = await scene.fairlead(['login', ...server(), '--token-file', '-', '--device']);
  expect(both).toMatchObject({ status: 2, err: expect.stringContaining('an API token is of no issuer') as string });
});
