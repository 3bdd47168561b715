import type { CatalogSource } from '@fairlead/desired-state';
import type { KubeObject } from '@fairlead/kube/rest';
import { APP_PROJECT, IN_CLUSTER, NAMESPACE } from './kinds.js';
import { readSigningKey } from './open-pgp.js';

/** No key has this id. */
const NOBODY = '0'.repeat(16);
const ANYTHING = { group: '*', kind: '*' };

/** That of the catalog, and of nothing else. */
export const CATALOG_PROJECT = 'fairlead-catalog';
/** That of the questions to the controllers (`probes.ts`): nothing is deployed by it. */
export const PROBE_PROJECT = 'fairlead-functional';
/** Nobody answers there: https://www.rfc-editor.org/rfc/rfc6761#section-6.4 */
export const PROBE_URL = 'ssh://git@fairlead.invalid/none';

/**
 * The project that an Application has which names none, and which Argo CD makes for itself if there is none. Locked: its own
 * recommendation, word for word. https://argo-cd.readthedocs.io/en/stable/user-guide/projects/#the-default-project
 */
export function defaultProject(locked: boolean): KubeObject {
  return project(
    'default',
    locked
      ? { sourceRepos: [], sourceNamespaces: [], destinations: [], namespaceResourceBlacklist: [ANYTHING] }
      : {
          sourceRepos: ['*'],
          destinations: [{ server: '*', namespace: '*' }],
          clusterResourceWhitelist: [ANYTHING],
        },
  );
}

export function probeProject(): KubeObject {
  return project(PROBE_PROJECT, {
    description: 'Asks the controllers of Argo CD whether they work',
    sourceRepos: [PROBE_URL],
    destinations: [{ server: IN_CLUSTER, namespace: PROBE_PROJECT }],
    namespaceResourceBlacklist: [ANYTHING],
  });
}

/**
 * The catalog's: from its repository only, into this cluster only. Where commits have to be signed, Argo CD asks for it by the project:
 * without `signatureKeys` it looks at no signature at all. So it names nobody's key where none of those that are demanded can be read.
 */
export function catalogProject({ verification }: CatalogSource, urls: readonly string[]): KubeObject {
  const ids = (verification?.keys ?? []).flatMap(({ publicKey }) => readSigningKey(publicKey)?.all ?? []);
  return project(CATALOG_PROJECT, {
    description: 'The catalog repository that Fairlead lets this cluster follow',
    sourceRepos: urls,
    destinations: [{ server: IN_CLUSTER, namespace: '*' }],
    clusterResourceWhitelist: [ANYTHING],
    ...(verification
      ? { signatureKeys: [...new Set(ids.length > 0 ? ids : [NOBODY])].map((keyID) => ({ keyID })) }
      : {}),
  });
}

function project(name: string, spec: Record<string, unknown>): KubeObject {
  return { ...APP_PROJECT, metadata: { name, namespace: NAMESPACE }, spec };
}
