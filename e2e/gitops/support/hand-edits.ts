import type { KubeObject } from '@fairlead/kube/rest';
import { expect } from 'vitest';
import type { World } from './world.js';

type Kube = Pick<World, 'kubectl'>;
type Fields = Record<string, unknown>;

interface Workload {
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: { args: string[]; env: Fields[]; resources: Fields }[] };
    };
  };
}

/** What somebody might do with `kubectl edit`: an object of Flux, and the change. */
const EDITS: readonly { readonly object: readonly [kind: string, name: string]; edit(object: KubeObject): void }[] = [
  {
    object: ['deployment', 'kustomize-controller'],
    edit: (object) => {
      const [manager] = (object as unknown as Workload).spec.template.spec.containers;
      if (!manager) throw new Error('it has no container');
      manager.args = [
        ...manager.args.filter((arg) => !arg.startsWith('--log-level')),
        '--log-level=debug',
        '--concurrent=1',
      ];
      manager.env.push({ name: 'HTTPS_PROXY', value: 'http://127.0.0.1:9' });
      manager.resources = { limits: { cpu: '10m', memory: '16Mi' } };
    },
  },
  {
    object: ['deployment', 'source-controller'],
    edit: ({ metadata: { labels } }) => {
      const written = labels as Record<string, string>;
      delete written['app.kubernetes.io/managed-by'];
      written['fairlead.dev/bundle'] = 'of-somebody-else';
      written['app.kubernetes.io/part-of'] = 'something-else';
    },
  },
  {
    object: ['clusterrole', 'crd-controller'],
    edit: (object) => {
      const rules = object['rules'] as Fields[];
      rules.shift();
      rules.push({ apiGroups: ['*'], resources: ['*'], verbs: ['*'] });
    },
  },
  {
    object: ['clusterrolebinding', 'cluster-reconciler'],
    edit: (object) => {
      (object['subjects'] as Fields[]).push({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'mallory' });
    },
  },
  {
    object: ['networkpolicy', 'allow-egress'],
    edit: (object) => {
      (object['spec'] as Fields)['egress'] = [];
    },
  },
  {
    object: ['service', 'source-controller'],
    edit: (object) => {
      for (const port of (object['spec'] as { ports: Fields[] }).ports) port['port'] = 81;
    },
  },
  {
    object: ['kustomization.kustomize.toolkit.fluxcd.io', 'fairlead-catalog'],
    edit: (object) => {
      (object['spec'] as Fields)['path'] = './clusters/of-somebody-else';
    },
  },
];

/** Makes all of these edits at once. Resolves to what the objects said before. */
export async function editByHand(kube: Kube): Promise<KubeObject[]> {
  const before = await readEdited(kube);
  const edited = structuredClone(before);
  for (const [at, object] of edited.entries()) {
    // Whatever was written to their status meanwhile: no conflict.
    delete (object.metadata as Fields)['resourceVersion'];
    EDITS[at]?.edit(object);
  }
  await kube.kubectl(['replace', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: edited }));
  return before;
}

/** Throws until they say what they said before, all of it. */
export async function areAsBefore(kube: Kube, before: readonly KubeObject[]): Promise<void> {
  const now = await readEdited(kube);
  expect(now.map(said)).toEqual(before.map(said));
}

async function readEdited({ kubectl }: Kube): Promise<KubeObject[]> {
  return Promise.all(
    EDITS.map(async ({ object: [kind, name] }) => {
      return JSON.parse(await kubectl(['get', kind, name, '-n', 'flux-system', '-o', 'json'])) as KubeObject;
    }),
  );
}

/** Without what Kubernetes counts, and what is asked of Flux and answered. */
function said({ metadata, status: _status, ...rest }: KubeObject): object {
  const { resourceVersion: _version, generation: _generation, annotations = {}, ...names } = metadata;
  const {
    'deployment.kubernetes.io/revision': _revision,
    'reconcile.fluxcd.io/requestedAt': _asked,
    ...own
  } = annotations;
  return { ...rest, metadata: { ...names, annotations: own } };
}
