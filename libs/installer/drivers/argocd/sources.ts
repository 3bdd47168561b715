import type { CatalogSource, GitOpsSpec } from '@fairlead/desired-state';
import type { KubeObject } from '@fairlead/kube/rest';
import type { DeployKey } from '../../keys/deploy-keys.js';
import { secretData } from '../../state/own-objects.js';
import { APPLICATION, IN_CLUSTER, NAMESPACE } from './kinds.js';
import { CATALOG_PROJECT, catalogProject } from './projects.js';

/** The Application and the Secret of the catalog. */
export const CATALOG = 'fairlead-catalog';
/** An Application and its Secret that try the next deploy key. */
export const NEXT = 'fairlead-probe';
/** https://argo-cd.readthedocs.io/en/stable/user-guide/skip_reconcile/; older versions than 2.7 do not know it, and compare on. */
export const SKIP_RECONCILE = 'argocd.argoproj.io/skip-reconcile';
/** A commit that changes none of these paths is not compared. https://argo-cd.readthedocs.io/en/stable/operator-manual/high_availability/ */
const GENERATE_PATHS = 'argocd.argoproj.io/manifest-generate-paths';

/** What makes Argo CD follow the catalog; none without a source or a key that the Git host has. */
export function argocdSources(spec: GitOpsSpec, keys: readonly DeployKey[]): KubeObject[] {
  const { source, deployKey } = spec;
  const current = keys.find(({ number }) => number === deployKey.current);
  if (!source || !current || !deployKey.currentReady) return [];
  const next = deployKey.nextReady ? keys.find(({ number }) => number === deployKey.next) : undefined;
  const other = next ? otherSpelling(source.url) : null;
  return [
    catalogProject(source, other === null ? [source.url] : [source.url, other]),
    repository(CATALOG, source.url, current),
    catalog(source, spec.suspend),
    ...(next && other !== null ? [repository(NEXT, other, next), probe(source, other)] : []),
  ];
}

/** How Argo CD finds the key of a repository, for Applications of our project only. */
function repository(name: string, url: string, key: DeployKey): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: NAMESPACE, labels: { 'argocd.argoproj.io/secret-type': 'repository' } },
    ...secretData({ type: 'git', url, sshPrivateKey: key.privateKey, project: CATALOG_PROJECT }),
  };
}

function catalog(source: CatalogSource, suspend: boolean): KubeObject {
  return {
    ...APPLICATION,
    metadata: { name: CATALOG, namespace: NAMESPACE, annotations: following(!suspend) },
    spec: {
      project: CATALOG_PROJECT,
      source: { repoURL: source.url, targetRevision: source.branch, path: pathOf(source) },
      destination: { server: IN_CLUSTER },
      syncPolicy: {
        ...(suspend ? {} : { automated: { prune: source.prune, selfHeal: true } }),
        syncOptions: ['ServerSideApply=true'],
        // While it retries one commit it takes no other: so not for long. What it gave up it is asked for again (`tryAgain`).
        retry: { limit: 2, backoff: { duration: '5s', factor: 2, maxDuration: '1m' } },
      },
    },
  };
}

/** Said either way: whoever sets these otherwise would keep it from following, and nobody would be told. */
function following(follows: boolean): Record<string, string> {
  return { [SKIP_RECONCILE]: String(!follows), [GENERATE_PATHS]: '' };
}

/** Reads the repository, finds nothing to deploy in it, and would not deploy it. */
function probe(source: CatalogSource, url: string): KubeObject {
  return {
    ...APPLICATION,
    metadata: { name: NEXT, namespace: NAMESPACE, annotations: following(true) },
    spec: {
      project: CATALOG_PROJECT,
      source: {
        repoURL: url,
        targetRevision: source.branch,
        path: pathOf(source),
        directory: { include: 'fairlead-none' },
      },
      destination: { server: IN_CLUSTER },
    },
  };
}

function pathOf({ path }: CatalogSource): string {
  return path.replace(/^(\.\/)+(?=.)/, '');
}

/**
 * The same address, as another one to Argo CD: it finds keys, clones and the answers it remembers by the address, without a difference
 * of case or of a last `.git`. One letter of the path is percent-encoded: Git and Argo CD's own client decode it before they ask the host
 * (https://git-scm.com/docs/git-clone#_git_urls, RFC 3986). Null if the path has no letter.
 */
export function otherSpelling(url: string): string | null {
  const [, host = '', path = ''] = /^(ssh:\/\/[^/]+\/)(.*)$/.exec(url) ?? [];
  const at = path.search(/[a-zA-Z]/);
  if (at === -1) return null;
  return `${host}${path.slice(0, at)}%${path.charCodeAt(at).toString(16)}${path.slice(at + 1)}`;
}
