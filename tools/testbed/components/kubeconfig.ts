import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { findBinary } from '../binaries/find-binary.js';
import { TestbedError } from '../errors.js';
import type { KubeInfo } from './contract.js';
import type { KubernetesPki } from './kubernetes-pki.js';

/** The admin's kubeconfig of a test cluster, with everything inlined. JSON is YAML, so every client reads it. */
export function kubeconfigFor(url: string, pki: KubernetesPki): Promise<string> {
  const client = { certPath: pki.path('admin.crt'), keyPath: pki.path('admin.key') };
  return clientKubeconfig({ url, caPath: pki.caCert, ...client });
}

export interface KubeClient {
  readonly url: string;
  readonly caPath: string;
  readonly certPath: string;
  readonly keyPath: string;
}

/** A kubeconfig for whoever a client certificate says. */
export async function clientKubeconfig({ url, caPath, certPath, keyPath }: KubeClient): Promise<string> {
  const data = async (path: string) => (await readFile(path)).toString('base64');
  const cluster = { server: url, 'certificate-authority-data': await data(caPath) };
  const user = {
    'client-certificate-data': await data(certPath),
    'client-key-data': await data(keyPath),
  };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'testbed', cluster }],
    users: [{ name: 'testbed-admin', user }],
    contexts: [{ name: 'testbed', context: { cluster: 'testbed', user: 'testbed-admin' } }],
    'current-context': 'testbed',
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

/** What a kubeconfig given from outside points to, asked with kubectl; throws TestbedError when the cluster does not answer. */
export async function externalCluster(path: string): Promise<KubeInfo> {
  const kubeconfig = resolve(path);
  const kubectl = async (...args: string[]): Promise<unknown> => {
    const binary = await findBinary('kubectl');
    const all = [`--kubeconfig=${kubeconfig}`, '--request-timeout=10s', ...args];
    const { stdout } = await promisify(execFile)(binary.path, all, { timeout: 20_000 });
    return JSON.parse(stdout) as unknown;
  };
  try {
    const view = (await kubectl('config', 'view', '--minify', '--raw', '--flatten', '-o', 'json')) as ConfigView;
    const { server, 'certificate-authority-data': ca } = view.clusters[0]!.cluster;
    const { gitVersion } = (await kubectl('get', '--raw', '/version')) as { gitVersion: string };
    const caPem = ca === undefined ? '' : Buffer.from(ca, 'base64').toString('utf8');
    return { url: server, caPem, adminKubeconfigPath: kubeconfig, version: gitVersion };
  } catch (cause) {
    throw new TestbedError(`FAIRLEAD_TESTBED_KUBECONFIG: no cluster answers for ${kubeconfig}`, { cause });
  }
}

interface ConfigView {
  readonly clusters: readonly { cluster: { server: string; 'certificate-authority-data'?: string } }[];
}
