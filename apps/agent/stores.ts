import { open, readFile } from 'node:fs/promises';
import type { AgentOptions, TextStore } from '@fairlead/agent';
import { isPrivate, shownMode } from '@fairlead/config';
import { FairleadError } from '@fairlead/errors';
import { createConfigMaps, createLease, createSecretStore } from '@fairlead/kube/in-cluster';
import type { AgentConfig } from './config.js';
import { fileStore } from './file-store.js';

/** Where the agent keeps its identity. */
export function storeFor(config: AgentConfig, server: { host: string; port: number }): TextStore {
  const [kind, place = ''] = splitOnce(config.FAIRLEAD_IDENTITY, ':');
  if (kind === 'file') return fileStore(place);
  const [namespace, name = ''] = splitOnce(place, '/');
  return createSecretStore({ ...server, serviceAccountDir: config.FAIRLEAD_SERVICE_ACCOUNT_DIR, namespace, name });
}

/** Where it hands over what is desired of the cluster; undefined: nowhere, outside a cluster. */
export function handoverFor(config: AgentConfig, server: { host: string; port: number }): AgentOptions['handover'] {
  const workload = workloadOf(config);
  const namespace = config.FAIRLEAD_HANDOVER_NAMESPACE ?? workload?.namespace;
  if (namespace === undefined) return undefined;
  const serviceAccountDir = config.FAIRLEAD_SERVICE_ACCOUNT_DIR;
  return {
    maps: createConfigMaps({ ...server, serviceAccountDir, namespace }),
    ...(workload && { lease: createLease({ ...server, serviceAccountDir, ...workload }) }),
  };
}

/** The Deployment that it is a pod of, and what its pods agree by; undefined outside a cluster. */
export function workloadOf(config: AgentConfig): { readonly namespace: string; readonly name: string } | undefined {
  const [kind, place = ''] = splitOnce(config.FAIRLEAD_IDENTITY, ':');
  return kind === 'secret' ? { namespace: splitOnce(place, '/')[0], name: config.FAIRLEAD_WORKLOAD } : undefined;
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** The token as text; null if there is none. The kubelet mounts no file for a Secret that is gone. */
export async function readToken(path: string | undefined): Promise<string | null> {
  if (path === undefined) return null;
  try {
    const text = (await readFile(path, 'utf8')).trim();
    return text === '' ? null : text;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** The text of an identity bundle; null if there is none. FORBIDDEN for a file that others than its owner can read (`isPrivate`). */
export async function readBundleFile(path: string | undefined): Promise<string | null> {
  if (path === undefined) return null;
  try {
    await using file = await open(path, 'r');
    const access = await file.stat();
    if (isPrivate(access)) return await file.readFile('utf8');
    throw new FairleadError(
      'FORBIDDEN',
      `${path} holds a private key and others can read it (mode ${shownMode(access)}): chmod 600`,
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
