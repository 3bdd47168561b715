import { formatKnownHosts, type CatalogSource, type GitOpsSpec } from '@fairlead/desired-state';
import type { KubeObject } from '@fairlead/kube/rest';
import type { DeployKey } from '../../keys/deploy-keys.js';
import { secretData } from '../../state/own-objects.js';

export const NAMESPACE = 'flux-system';
export const GIT_REPOSITORY = { apiVersion: 'source.toolkit.fluxcd.io/v1', kind: 'GitRepository' } as const;
export const KUSTOMIZATION = { apiVersion: 'kustomize.toolkit.fluxcd.io/v1', kind: 'Kustomization' } as const;
/** The GitRepository, the Kustomization and the Secret of the catalog. */
export const CATALOG = 'fairlead-catalog';
/** A GitRepository and its Secret that try the next deploy key. */
export const NEXT = 'fairlead-probe';
/** Whose signatures count. */
export const SIGNERS = 'fairlead-catalog-signers';

/** Of one fetch: shorter than what a reconcile request has to be answered in (`FUNCTIONAL_LIMITS`). */
const FETCH_TIMEOUT = '20s';

/** What makes Flux follow the catalog; none without a source or a key that the Git host has. */
export function fluxSources(spec: GitOpsSpec, keys: readonly DeployKey[]): KubeObject[] {
  const { source, deployKey } = spec;
  const current = keys.find(({ number }) => number === deployKey.current);
  if (!source || !current || !deployKey.currentReady) return [];
  const next = deployKey.nextReady ? keys.find(({ number }) => number === deployKey.next) : undefined;
  return [
    identity(CATALOG, source, current),
    ...signers(source),
    gitRepository(CATALOG, source, spec.suspend),
    kustomization(source, spec),
    ...(next ? [identity(NEXT, source, next), gitRepository(NEXT, source, false)] : []),
  ];
}

function identity(name: string, { knownHosts }: CatalogSource, key: DeployKey): KubeObject {
  const values = {
    identity: key.privateKey,
    'identity.pub': `${key.publicKey}\n`,
    known_hosts: formatKnownHosts(knownHosts),
  };
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: NAMESPACE }, ...secretData(values) };
}

function signers({ verification }: CatalogSource): KubeObject[] {
  if (verification?.type !== 'gpg') return [];
  const values = Object.fromEntries(verification.keys.map(({ name, publicKey }) => [`${name}.asc`, publicKey]));
  return [
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: SIGNERS, namespace: NAMESPACE }, ...secretData(values) },
  ];
}

function gitRepository(name: string, source: CatalogSource, suspend: boolean): KubeObject {
  return {
    ...GIT_REPOSITORY,
    metadata: { name, namespace: NAMESPACE },
    spec: {
      url: source.url,
      ref: { branch: source.branch },
      secretRef: { name },
      interval: `${source.intervalSeconds}s`,
      timeout: FETCH_TIMEOUT,
      suspend,
      // Flux has nothing for SSH signatures: it is suspended then.
      ...(source.verification?.type === 'gpg' ? { verify: { mode: 'HEAD', secretRef: { name: SIGNERS } } } : {}),
    },
  };
}

function kustomization(source: CatalogSource, { suspend, lockdown }: GitOpsSpec): KubeObject {
  return {
    ...KUSTOMIZATION,
    metadata: { name: CATALOG, namespace: NAMESPACE },
    spec: {
      sourceRef: { kind: 'GitRepository', name: CATALOG },
      path: source.path === '.' ? './' : `./${source.path.replace(/^\.\//, '')}`,
      prune: source.prune,
      // A new revision is applied when it is fetched; this is how soon drift of what it deployed is put right.
      interval: '10m',
      retryInterval: '1m',
      timeout: '5m',
      suspend,
      // Where tenants act with the rights of `default`, the catalog itself has those of the controller.
      ...(lockdown ? { serviceAccountName: 'kustomize-controller' } : {}),
    },
  };
}
