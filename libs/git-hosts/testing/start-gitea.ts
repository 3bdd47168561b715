import { generateKeyPairSync, randomBytes, type KeyPairKeyObjectResult } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startGitea, type GiteaInfo, type Running } from '@fairlead/testbed';
import { scratchDir, testAuthority } from '@fairlead/testing';
import { Agent } from 'undici';
import { startFront, type FrontAnswer, type FrontRequest } from './front.js';
import type { HostUnderTest } from './host-under-test.js';

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** Asks Gitea itself, past the driver and past what a test lets go wrong. */
interface GiteaClient extends AsyncDisposable {
  /** Throws unless it answers 2xx. Authorised by a token, or by `user:password`. */
  ask<T>(method: Method, path: string, body?: object, auth?: string): Promise<T>;
  forward(request: FrontRequest): Promise<FrontAnswer>;
}

export interface GiteaUnderTest extends HostUnderTest {
  /** A token of the bot with these scopes. */
  token(...scopes: string[]): Promise<string>;
  /** Takes back a token of the bot. */
  revoke(token: string): Promise<void>;
  readonly info: GiteaInfo;
  /** To stop it, and to have it back. */
  readonly server: Running<GiteaInfo>;
  /** As its administrator, past the front. */
  readonly ask: GiteaClient['ask'];
  /** Its SSH server has another key from now on, of this type. */
  changeHostKey(type?: 'ed25519' | 'rsa'): Promise<void>;
  /** An ed25519 key that its SSH server is to have, known before it does: `ssh-ed25519 AAAA…`. */
  announceHostKey(): { readonly publicKey: string; use(): Promise<void> };
}

/** A real Gitea with an organisation, a repository in it, and a bot that administers the repository. */
export async function startRealGitea(): Promise<GiteaUnderTest> {
  await using starting = new AsyncDisposableStack();
  const dir = starting.use(await scratchDir());
  const dataDir = join(dir.path, 'gitea');
  const server = starting.use(await startGitea({ dataDir }));
  const { info } = server;
  const client = starting.use(giteaClient(info.url, info.caPem, info.adminToken));
  const front = starting.use(await startFront(await testAuthority(), (request) => client.forward(request)));
  const repository = { owner: 'platform', name: 'catalog' };
  const head = await prepare(client);
  const { token, revoke } = await botTokens(client);
  const keysPath = '/repos/platform/catalog/keys';
  const useHostKey = async (pem: string): Promise<void> => {
    await writeFile(join(dataDir, 'pki', 'ssh-host-key'), pem, { mode: 0o600 });
    await server.restart();
  };
  const running = starting.move();
  return {
    kind: 'gitea',
    token,
    revoke,
    info,
    server,
    ask: (...args) => client.ask(...args),
    changeHostKey: (type = 'ed25519') => useHostKey(pemOf(newHostKey(type))),
    announceHostKey() {
      const pair = newHostKey('ed25519');
      return { publicKey: sshPublicKey(pair), use: () => useHostKey(pemOf(pair)) };
    },
    front,
    tokens: {
      enough: await token('write:repository'),
      readOnly: await token('read:repository'),
      wide: info.adminToken,
    },
    repository,
    head,
    owner: 'platform',
    keysPath,
    async addByHand({ title, publicKey, readOnly }) {
      const key = { title, key: publicKey, read_only: readOnly };
      return String((await client.ask<{ id: number }>('POST', keysPath, key)).id);
    },
    async idsOnHost() {
      const ids: string[] = [];
      for (let page = 1; ; page++) {
        const keys = await client.ask<{ id: number }[]>('GET', `${keysPath}?limit=50&page=${page}`);
        if (keys.length === 0) return ids;
        ids.push(...keys.map(({ id }) => String(id)));
      }
    },
    async useElsewhere(publicKey) {
      await client.ask('POST', '/user/keys', { title: `key ${randomBytes(4).toString('hex')}`, key: publicKey });
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

/** The organisation, the repository and its second branch; the commit that both branches point to. */
async function prepare(client: GiteaClient): Promise<string> {
  await client.ask('POST', '/orgs', { username: 'platform', visibility: 'private' });
  await client.ask('POST', '/orgs/platform/repos', { name: 'catalog', private: true, auto_init: true });
  const branch = { new_branch_name: 'release/1', old_branch_name: 'main' };
  const made = await client.ask<{ commit: { id: string } }>('POST', '/repos/platform/catalog/branches', branch);
  return made.commit.id;
}

interface BotTokens {
  readonly token: (...scopes: string[]) => Promise<string>;
  readonly revoke: (token: string) => Promise<void>;
}

/** Tokens of a bot that administers the one repository and nothing else. */
async function botTokens(client: GiteaClient): Promise<BotTokens> {
  const password = randomBytes(16).toString('base64url');
  const bot = { username: 'fairlead-bot', email: 'bot@fairlead.invalid', password, must_change_password: false };
  await client.ask('POST', '/admin/users', bot);
  await client.ask('PUT', '/repos/platform/catalog/collaborators/fairlead-bot', { permission: 'admin' });
  const auth = `Basic ${Buffer.from(`fairlead-bot:${password}`).toString('base64')}`;
  const ids = new Map<string, number>();
  return {
    async token(...scopes) {
      const wish = { name: `${scopes.join(' ')} ${randomBytes(4).toString('hex')}`, scopes };
      const path = '/users/fairlead-bot/tokens';
      const { id, sha1 } = await client.ask<{ id: number; sha1: string }>('POST', path, wish, auth);
      ids.set(sha1, id);
      return sha1;
    },
    async revoke(token) {
      await client.ask('DELETE', `/users/fairlead-bot/tokens/${ids.get(token)}`, undefined, auth);
    },
  };
}

function newHostKey(type: 'ed25519' | 'rsa'): KeyPairKeyObjectResult {
  return type === 'rsa' ? generateKeyPairSync('rsa', { modulusLength: 3072 }) : generateKeyPairSync('ed25519');
}

function pemOf({ privateKey }: KeyPairKeyObjectResult): string {
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
}

/** RFC 8709: the length and name of the type, the length of the key, the key. */
function sshPublicKey({ publicKey }: KeyPairKeyObjectResult): string {
  const { x = '' } = publicKey.export({ format: 'jwk' });
  const head = Buffer.from('0000000b7373682d6564323535313900000020', 'hex');
  return `ssh-ed25519 ${Buffer.concat([head, Buffer.from(x, 'base64url')]).toString('base64')}`;
}

function giteaClient(origin: string, caPem: string, adminToken: string): GiteaClient {
  const agent = new Agent({ connect: { ca: caPem }, headersTimeout: 30_000, bodyTimeout: 30_000, allowH2: false });
  return {
    async ask<T>(method: Method, path: string, body?: object, auth?: string): Promise<T> {
      const headers = { authorization: auth ?? `token ${adminToken}`, 'content-type': 'application/json' };
      const text = body === undefined ? {} : { body: JSON.stringify(body) };
      const answer = await agent.request({ origin, path: `/api/v1${path}`, method, headers, ...text });
      const said = await answer.body.text();
      if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${said}`);
      return (said === '' ? undefined : JSON.parse(said)) as T;
    },
    async forward({ method, path, query, headers, body }) {
      const { authorization = '', accept = '*/*', 'content-type': type = 'application/json' } = headers;
      const search = query.size > 0 ? `?${query.toString()}` : '';
      const answer = await agent.request({
        origin,
        path: `${path}${search}`,
        method,
        headers: { authorization, accept, 'content-type': type },
        ...(body === '' ? {} : { body }),
      });
      const kept = ['content-type', 'link', 'x-total-count', 'location'].flatMap((name) => {
        const value = answer.headers[name];
        return typeof value === 'string' ? [[name, value] as const] : [];
      });
      return { status: answer.statusCode, headers: Object.fromEntries(kept), body: await answer.body.text() };
    },
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}
