import { generateKeyPairSync, randomBytes, type KeyPairKeyObjectResult } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startGitea, type GiteaInfo, type Running } from '@fairlead/testbed';
import { scratchDir, testAuthority } from '@fairlead/testing';
import { startFront } from './front.js';
import { ensureCatalog, ensureCollaborator } from './gitea-catalog.js';
import { giteaClient, type GiteaClient } from './gitea-client.js';
import type { HostUnderTest } from './host-under-test.js';

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
  /** An RSA key that its SSH server is to have, known before it does: `ssh-rsa AAAA…`. */
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
  await ensureCatalog(client);
  const head = await addBranch(client);
  const { token, revoke } = await ensureCollaborator(client, 'fairlead-bot', 'admin');
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
      const pair = newHostKey('rsa');
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

/** The second branch; the commit that both branches point to. */
async function addBranch(client: GiteaClient): Promise<string> {
  const branch = { new_branch_name: 'release/1', old_branch_name: 'main' };
  const made = await client.ask<{ commit: { id: string } }>('POST', '/repos/platform/catalog/branches', branch);
  return made.commit.id;
}

function newHostKey(type: 'ed25519' | 'rsa'): KeyPairKeyObjectResult {
  return type === 'rsa' ? generateKeyPairSync('rsa', { modulusLength: 3072 }) : generateKeyPairSync('ed25519');
}

function pemOf({ privateKey }: KeyPairKeyObjectResult): string {
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
}

/** RFC 4253, section 6.6: `ssh-rsa`, the exponent and the modulus, each with its length before it. */
function sshPublicKey({ publicKey }: KeyPairKeyObjectResult): string {
  const { e = '', n = '' } = publicKey.export({ format: 'jwk' });
  // The modulus has its highest bit set: a zero byte says that it is positive.
  const parts = [Buffer.from('ssh-rsa'), Buffer.from(e, 'base64url'), Buffer.from(`00${hexOf(n)}`, 'hex')];
  const blob = parts.flatMap((part) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(part.length);
    return [length, part];
  });
  return `ssh-rsa ${Buffer.concat(blob).toString('base64')}`;
}

const hexOf = (base64url: string): string => Buffer.from(base64url, 'base64url').toString('hex');
