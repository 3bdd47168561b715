import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { CatalogSource } from '@fairlead/desired-state';
import type { KubeObject } from '@fairlead/kube/rest';
import type { GiteaInfo } from '@fairlead/testbed';

/** A private repository with one ConfigMap in it. */
export interface TestCatalog {
  readonly source: CatalogSource;
  addKey(publicKey: string): Promise<void>;
  /** Changes the ConfigMap. */
  push(greeting: string): Promise<void>;
  /** Holds this object besides. Returns what takes it out again. */
  hold(object: KubeObject): Promise<() => Promise<void>>;
}

const FILE = 'config-map.yaml';
const BESIDES = 'besides.yaml';

export async function createCatalog(gitea: GiteaInfo): Promise<TestCatalog> {
  const repository = `/repos/${gitea.adminUser}/catalog`;
  await ask(gitea, 'POST', '/user/repos', { name: 'catalog', private: true, auto_init: true });
  let { sha } = await write(gitea, repository, 'hello');
  const [type = '', key = ''] = gitea.sshHostKey.split(' ');
  return {
    source: CatalogSource.parse({
      url: `ssh://git@127.0.0.1:${gitea.sshPort}/${gitea.adminUser}/catalog.git`,
      branch: 'main',
      path: '.',
      knownHosts: [{ host: `[127.0.0.1]:${gitea.sshPort}`, type, key }],
      intervalSeconds: 5,
    }),
    addKey: async (publicKey) => {
      await ask(gitea, 'POST', `${repository}/keys`, { title: publicKey.slice(-16), key: publicKey, read_only: true });
    },
    push: async (greeting) => {
      ({ sha } = await write(gitea, repository, greeting, sha));
    },
    hold: async (object) => {
      const content = Buffer.from(JSON.stringify(object)).toString('base64');
      const path = `${repository}/contents/${BESIDES}`;
      const answer = await ask(gitea, 'POST', path, { content, message: 'Hold', branch: 'main' });
      const held = (JSON.parse(answer) as { content: { sha: string } }).content;
      return async () => void (await ask(gitea, 'DELETE', path, { sha: held.sha, message: 'Drop', branch: 'main' }));
    },
  };
}

async function write(gitea: GiteaInfo, repository: string, greeting: string, sha?: string): Promise<{ sha: string }> {
  const configMap = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'from-git', namespace: 'default' },
    data: { greeting },
  };
  const content = Buffer.from(JSON.stringify(configMap)).toString('base64');
  const body = { content, message: 'Greet', branch: 'main', ...(sha === undefined ? {} : { sha }) };
  const answer = await ask(gitea, sha === undefined ? 'POST' : 'PUT', `${repository}/contents/${FILE}`, body);
  return (JSON.parse(answer) as { content: { sha: string } }).content;
}

function ask(gitea: GiteaInfo, method: string, path: string, body: unknown): Promise<string> {
  const content = JSON.stringify(body);
  const authorization = `token ${gitea.adminToken}`;
  // Without its length, Node sends the body of a DELETE so that nobody knows where it ends.
  const length = { 'content-length': Buffer.byteLength(content) };
  return new Promise((resolve, reject) => {
    const sent = request(new URL(`/api/v1${path}`, gitea.url), {
      method,
      ca: gitea.caPem,
      headers: { authorization, 'content-type': 'application/json', ...length },
      signal: AbortSignal.timeout(30_000),
    });
    sent.on('error', reject);
    sent.on('response', (answer) => resolve(saidBy(answer, `${method} ${path}`)));
    sent.end(content);
  });
}

async function saidBy(answer: IncomingMessage, what: string): Promise<string> {
  const said = await text(answer);
  if ((answer.statusCode ?? 0) >= 300) throw new Error(`${what} answered ${answer.statusCode}: ${said}`);
  return said;
}
