import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { FairleadError } from '@fairlead/errors';
import { parse } from 'yaml';
import type { ClusterAccess } from './pod-access.js';

interface Kubeconfig {
  readonly 'current-context'?: string;
  readonly contexts?: readonly { name: string; context: { cluster: string; user: string } }[];
  readonly clusters?: readonly { name: string; cluster: Record<string, string> }[];
  readonly users?: readonly { name: string; user: Record<string, string> }[];
}

/**
 * From the current context of a kubeconfig: a client certificate or a token. INVALID_ARGUMENT for one that has neither, because
 * programs that fetch credentials are not run here.
 */
export async function accessFromKubeconfig(path: string): Promise<ClusterAccess> {
  const config = parse(await readFile(path, 'utf8')) as Kubeconfig;
  const context = config.contexts?.find(({ name }) => name === config['current-context'])?.context;
  const cluster = config.clusters?.find(({ name }) => name === context?.cluster)?.cluster ?? {};
  const user = config.users?.find(({ name }) => name === context?.user)?.user ?? {};
  const server = URL.parse(cluster['server'] ?? '');
  const caPem = await valueOf(cluster, 'certificate-authority', path);
  if (server?.protocol !== 'https:' || caPem === null) throw unusable(path, 'an https server with its CA');
  const access = {
    host: server.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(server.port === '' ? 443 : server.port),
    caPem,
  };
  const [certPem, keyPem] = [await valueOf(user, 'client-certificate', path), await valueOf(user, 'client-key', path)];
  if (certPem !== null && keyPem !== null) return { ...access, clientCertificate: { certPem, keyPem } };
  const { token, tokenFile } = user;
  if (token !== undefined) return { ...access, token: () => Promise.resolve(token) };
  if (tokenFile === undefined) throw unusable(path, 'a client certificate or a token');
  return { ...access, token: async () => (await readFile(tokenFile, 'utf8')).trim() };
}

/** A value that stands in the file, in base64, or in another file. */
async function valueOf(from: Record<string, string>, name: string, path: string): Promise<string | null> {
  const inline = from[`${name}-data`];
  if (inline !== undefined) return Buffer.from(inline, 'base64').toString('utf8');
  const file = from[name];
  return file === undefined ? null : readFile(resolve(dirname(path), file), 'utf8');
}

function unusable(path: string, what: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `the kubeconfig ${path} has no ${what} for its current context`);
}
