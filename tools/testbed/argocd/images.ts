import { mkdir, rm, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { findBinary, type FindOptions } from '../binaries/find-binary.js';
import type { Images } from '../components/contract.js';
import { ARGOCD_IMAGES } from './pins.js';

/** The names that the one program of Argo CD goes by, and acts after. */
const NAMES = ['argocd', 'argocd-application-controller', 'argocd-repo-server', 'argocd-git-ask-pass'];

export interface ArgocdImagesOptions extends FindOptions {
  /** How often repositories are asked for commits, whatever `argocd-cm` says. Absent: as it says, else 120 s. */
  readonly refreshSeconds?: number;
}

/**
 * The images of the install manifest, for a test kubelet; `dir` holds the names of the program. There are no names of Services:
 * controller and repo server find each other and Redis by the addresses that these have when the pods start. There is no GnuPG keyring.
 */
export async function argocdImages(dir: string, options: ArgocdImagesOptions = {}): Promise<Images> {
  const argocd = await findBinary('argocd', options);
  const redis = await findBinary('redis-server', options);
  const bin = resolve(dir);
  await mkdir(bin, { recursive: true });
  for (const name of NAMES) {
    await rm(join(bin, name), { force: true });
    await symlink(argocd.path, join(bin, name));
  }
  return {
    [ARGOCD_IMAGES.argocd]: {
      // Upstream's entry point starts what the arguments name.
      program: ['/usr/bin/env'],
      paths: { '/usr/local/bin': bin },
      env: { ...environment(bin), ...refresh(options.refreshSeconds) },
    },
    [ARGOCD_IMAGES.redis]: { program: [redis.path], appendArgs: ['--bind', '$(POD_IP)'] },
  };
}

function environment(bin: string): Record<string, string> {
  return {
    PATH: `${bin}:${process.env['PATH']}`,
    REDIS_SERVER: '$(ARGOCD_REDIS_SERVICE_HOST):6379',
    ARGOCD_REPO_SERVER_LISTEN_ADDRESS: '$(POD_IP)',
    ARGOCD_REPO_SERVER_METRICS_LISTEN_ADDRESS: '$(POD_IP)',
    ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER: '$(ARGOCD_REPO_SERVER_SERVICE_HOST):8081',
    ARGOCD_SSH_DATA_PATH: '$(VOLUMES_DIR)/ssh-known-hosts',
    ARGOCD_TLS_DATA_PATH: '$(VOLUMES_DIR)/tls-certs',
    ARGOCD_GPG_ENABLED: 'false',
    // Else it looks for the service account in the usual folder only, not in KUBECONFIG.
    ARGOCD_FAKE_IN_CLUSTER: 'true',
  };
}

function refresh(seconds?: number): Record<string, string> {
  if (seconds === undefined) return {};
  return { ARGOCD_RECONCILIATION_TIMEOUT: `${seconds}s`, ARGOCD_RECONCILIATION_JITTER: '0s' };
}
