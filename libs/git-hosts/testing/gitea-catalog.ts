import { randomBytes } from 'node:crypto';
import type { GiteaClient } from './gitea-client.js';

const CATALOG = '/repos/platform/catalog';

type Asking = Pick<GiteaClient, 'ask'>;

/** Tokens of one user. */
interface UserTokens {
  readonly token: (...scopes: string[]) => Promise<string>;
  /** Takes back one that `token` gave. */
  readonly revoke: (token: string) => Promise<void>;
}

/** The organisation `platform` with the private repository `catalog`, unless they are there. */
export async function ensureCatalog(client: Asking): Promise<void> {
  if (!(await exists(client, '/orgs/platform')))
    await client.ask('POST', '/orgs', { username: 'platform', visibility: 'private' });
  if (!(await exists(client, CATALOG)))
    await client.ask('POST', '/orgs/platform/repos', { name: 'catalog', private: true, auto_init: true });
}

/** A user who may do this much with the catalog and nothing else. The password is a new one that nobody keeps. */
export async function ensureCollaborator(
  client: Asking,
  username: string,
  permission: 'admin' | 'write',
): Promise<UserTokens> {
  const password = randomBytes(16).toString('base64url');
  const kept = { password, must_change_password: false };
  if (await exists(client, `/users/${username}`)) {
    await client.ask('PATCH', `/admin/users/${username}`, { ...kept, login_name: username, source_id: 0 });
  } else {
    await client.ask('POST', '/admin/users', { ...kept, username, email: `${username}@fairlead.invalid` });
  }
  await client.ask('PUT', `${CATALOG}/collaborators/${username}`, { permission });
  return tokensOf(client, username, password);
}

/** Commits a file to the default branch of the catalog. Returns the commit. */
export async function commitFile(client: Asking, file: string, text: string): Promise<string> {
  const path = `${CATALOG}/contents/${file}`;
  const before = await client.ask<{ sha: string }>('GET', path).catch(() => undefined);
  const content = Buffer.from(text).toString('base64');
  const body = { content, message: `Change ${file}`, ...(before ? { sha: before.sha } : {}) };
  const { commit } = await client.ask<{ commit: { sha: string } }>(before ? 'PUT' : 'POST', path, body);
  return commit.sha;
}

/** Whether the administrator finds it. Throws for any other answer than that it is not there. */
export async function exists(client: Asking, path: string): Promise<boolean> {
  try {
    await client.ask('GET', path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'status' in error && error.status === 404) return false;
    throw error;
  }
}

function tokensOf(client: Asking, username: string, password: string): UserTokens {
  const auth = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const path = `/users/${username}/tokens`;
  const ids = new Map<string, number>();
  return {
    async token(...scopes) {
      const wanted = { name: `${scopes.join(' ')} ${randomBytes(4).toString('hex')}`, scopes };
      const { id, sha1 } = await client.ask<{ id: number; sha1: string }>('POST', path, wanted, auth);
      ids.set(sha1, id);
      return sha1;
    },
    async revoke(token) {
      await client.ask('DELETE', `${path}/${ids.get(token)}`, undefined, auth);
    },
  };
}
