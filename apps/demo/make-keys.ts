import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '@fairlead/observability';
import { createFolderStore } from '@fairlead/setup';
import { ensurePki, kubeconfigFor } from '@fairlead/testbed/kubernetes-keys';
import type { KeysConfig } from './config.js';

/** The demo's kube-apiserver, by a name that is in its certificate. */
const URL = 'https://kubernetes:6443';
const FILES = {
  'demo-etcd': ['ca.crt', 'etcd.crt', 'etcd.key'],
  'demo-apiserver': [
    'ca.crt',
    'serving.crt',
    'serving.key',
    'etcd-client.crt',
    'etcd-client.key',
    'service-account.crt',
    'service-account.key',
  ],
} as const;

/**
 * Makes the keys and certificates of the demo cluster, once, a Secret for each container: its CA's key is kept nowhere. Errors as
 * `createFolderStore`; CONFLICT if there are some of the Secrets.
 */
export async function makeKeys(config: KeysConfig, logger: Logger): Promise<void> {
  const store = createFolderStore({ dir: config.FAIRLEAD_VOLUMES_DIR, ownerOf: () => config.FAIRLEAD_PROCESS_UID });
  // The last one that is made.
  if ((await store.readSecret('demo-admin')) !== null) return;
  const work = await mkdtemp(join(tmpdir(), 'demo-'));
  try {
    const pki = await ensurePki(work);
    for (const [secret, names] of Object.entries(FILES)) {
      const files = await Promise.all(names.map(async (name) => [name, await readFile(join(pki.dir, name), 'utf8')]));
      await store.createSecret(secret, Object.fromEntries(files) as Record<string, string>);
    }
    const kubeconfig = await kubeconfigFor(URL, pki);
    await store.createSecret('demo-admin', { kubeconfig, 'ca.crt': pki.caPem });
    logger.info('demo.keys.made');
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
