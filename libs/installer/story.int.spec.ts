import type { ChildProcess } from 'node:child_process';
import { HANDOVER } from '@fairlead/desired-state';
import type { KubeObject, ObjectRef } from '@fairlead/kube/rest';
import { eventually, testAuthority } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readReport, startTestCluster, type TestCluster } from './testing/cluster.js';
import { bring, bundleOf, handOver, handoverOf, NAMESPACE, stateOf, gitopsSpecOf } from './testing/control-plane.js';
import { endProcess, startInstallerProcess } from './testing/installer-process.js';
import { smallBundle } from './testing/small-bundle.js';
import { startStandIn, type StandIn } from './testing/stand-in.js';

const EXTRA = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: NAME, namespace: flux-system }\ndata: { a: b }\n';
const first = bundleOf(smallBundle(undefined, EXTRA.replace('NAME', 'old')));
const second = bundleOf(smallBundle('registry.example.com/fluxcd', EXTRA.replace('NAME', 'new')), 'v2');
const broken = bundleOf(smallBundle('registry.example.com/broken'), 'v3');

let cluster: TestCluster;
let standIn: StandIn;
let installer: ChildProcess;
let revision = 0;

beforeAll(async () => {
  cluster = await startTestCluster();
  standIn = startStandIn(cluster.objects);
  standIn.brokenImages.add('/broken/');
  installer = startInstallerProcess(cluster);
});
afterAll(async () => {
  await endProcess(installer, 'SIGKILL');
  await standIn[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

async function want(wanted: typeof first, more: Parameters<typeof gitopsSpecOf>[1] = {}): Promise<void> {
  revision += 1;
  await handOver(cluster.objects, await handoverOf(cluster.authority, stateOf(revision, gitopsSpecOf(wanted, more))));
}

const healthy = (wanted: typeof first) =>
  cluster.report((report) =>
    expect(report).toMatchObject({
      phase: 'healthy',
      appliedRevision: revision,
      bundleDigest: wanted.reference.digest,
      problem: null,
    }),
  );
const inFlux = (apiVersion: string, kind: string, name: string): ObjectRef => ({
  apiVersion,
  kind,
  name,
  namespace: 'flux-system',
});
const read = (...of: Parameters<typeof inFlux>): Promise<KubeObject | null> => cluster.objects.read(inFlux(...of));

it('installs a bundle', async () => {
  await bring(cluster.objects, first);
  await want(first);
  expect(await healthy(first)).toMatchObject({ observedRevision: revision });
});

describe('what is handed over and does not count', () => {
  const refused = (code: string) => cluster.report((report) => expect(report.problem).toMatchObject({ code }));

  it.each([
    ['STATE_REFUSED', 'another signer', () => handoverOf(cluster.authority, stateOf(99, null), 'gitops')],
    ['STATE_OLDER', 'an older revision', () => handoverOf(cluster.authority, stateOf(revision - 1 || 0.5, null))],
    [
      'STATE_OF_ANOTHER_CLUSTER',
      'another cluster',
      () => handoverOf(cluster.authority, stateOf(99, null, { clusterId: '11111111-2222-4333-8444-555555555555' })),
    ],
    ['ROOTS_NOT_PINNED', 'another root', async () => handoverOf(await testAuthority(), stateOf(99, null))],
  ])('%s: of %s', async (code, _what, make) => {
    if (code === 'STATE_OLDER') {
      await want(first);
      await healthy(first);
    }
    await handOver(cluster.objects, await make());
    const report = await refused(code);
    expect(report).toMatchObject({ phase: 'healthy', observedRevision: revision });
  });

  it('BUNDLE_WRONG_DIGEST: another bundle than the one that is wanted', async () => {
    await bring(cluster.objects, broken);
    await want(second);
    await cluster.report((report) => {
      expect(report).toMatchObject({ phase: 'waiting', wantedBundle: second.reference.digest });
      expect(report).toMatchObject({ problem: { code: 'BUNDLE_WRONG_DIGEST' } });
      expect(report).toMatchObject({ appliedRevision: revision - 1, bundleDigest: first.reference.digest });
    });
  });

  it('and what runs is repaired meanwhile', async () => {
    await cluster.objects.remove(inFlux('apps/v1', 'Deployment', 'kustomize-controller'));
    await eventually(async () => expect(await read('apps/v1', 'Deployment', 'kustomize-controller')).not.toBeNull());
  });
});

it('an upgrade during which the installer is killed is completed, and what it does not have any more is gone', async () => {
  await bring(cluster.objects, second);
  // Its definitions, accounts and rights are written then, and its Deployments perhaps not.
  await eventually(async () => expect(await read('v1', 'ConfigMap', 'new')).not.toBeNull(), { intervalMs: 1 });
  await endProcess(installer, 'SIGKILL');
  installer = startInstallerProcess(cluster);
  await healthy(second);
  expect(await read('v1', 'ConfigMap', 'old')).toBeNull();
});

it('a restarted installer repairs with nothing but what is in the cluster', async () => {
  await endProcess(installer, 'SIGTERM');
  for (const name of [HANDOVER.desiredState, HANDOVER.bundle]) {
    await cluster.objects.remove({ apiVersion: 'v1', kind: 'ConfigMap', namespace: NAMESPACE, name });
  }
  await cluster.objects.remove(inFlux('apps/v1', 'Deployment', 'kustomize-controller'));
  installer = startInstallerProcess(cluster);
  await eventually(async () => expect(await read('apps/v1', 'Deployment', 'kustomize-controller')).not.toBeNull(), {
    timeoutMs: 60_000,
  });
  await healthy(second);
});

it('a bundle that does not become healthy goes back to the last one that was', async () => {
  await bring(cluster.objects, broken);
  await want(broken);
  await cluster.report((report) => {
    expect(report).toMatchObject({ phase: 'degraded', bundleDigest: second.reference.digest });
    expect(report).toMatchObject({ problem: { code: 'BUNDLE_ROLLED_BACK' } });
  });
  expect((await readReport(cluster.objects)).events.map(({ step }) => step)).toContain('rolled-back');
  await bring(cluster.objects, second);
  await want(second);
  await healthy(second);
});

describe('an admission webhook', () => {
  const webhook = (name: string, more: Record<string, unknown>): KubeObject => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name },
    webhooks: [
      {
        name: 'all.hostile.example.com',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Fail',
        timeoutSeconds: 1,
        rules: [
          {
            apiGroups: ['*'],
            apiVersions: ['*'],
            operations: ['CREATE', 'UPDATE'],
            resources: ['*'],
            scope: 'Namespaced',
          },
        ],
        ...more,
      },
    ],
  });

  it('whose Service there is not keeps us from nothing for long', async () => {
    const name = 'hostile-service';
    const clientConfig = { service: { namespace: 'nowhere', name: 'hostile', port: 443 } };
    const configuration = webhook(name, { clientConfig });
    await cluster.objects.create(configuration);
    await cluster.objects.remove(inFlux('apps/v1', 'Deployment', 'source-controller'));
    await eventually(
      async () => {
        const found = await cluster.objects.read({ ...configuration, name });
        expect(JSON.stringify(found)).toContain('"NotIn","values":["flux-system","fairlead-system"]');
      },
      { timeoutMs: 90_000 },
    );
    await eventually(async () => expect(await read('apps/v1', 'Deployment', 'source-controller')).not.toBeNull(), {
      timeoutMs: 60_000,
    });
    await cluster.report(({ phase, events }) => {
      expect(phase).toBe('healthy');
      expect(events.map(({ object }) => object)).toContain(`ValidatingWebhookConfiguration ${name}`);
    });
    await cluster.objects.remove({ ...configuration, name });
  });
});

describe('removal', () => {
  const mine = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'deployed' };
  const remove = async (how: 'keep' | 'tool' | 'everything'): Promise<void> => {
    revision += 1;
    await handOver(cluster.objects, await handoverOf(cluster.authority, stateOf(revision, null, { remove: how })));
    await cluster.report((report) =>
      expect(report).toMatchObject({ phase: 'off', appliedRevision: revision, problem: null }),
    );
  };

  it('that keeps the tool takes only our labels off', async () => {
    await remove('keep');
    const deployment = await read('apps/v1', 'Deployment', 'source-controller');
    expect(deployment?.metadata.labels).toEqual({ 'control-plane': 'controller' });
    expect(
      await cluster.objects.read({
        apiVersion: 'v1',
        kind: 'Secret',
        namespace: NAMESPACE,
        name: 'fairlead-deploy-keys',
      }),
    ).toBeNull();
    await want(second);
    await healthy(second);
  });

  it('of the tool leaves what it deployed, and what others have beside it', async () => {
    await cluster.objects.create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: mine.name, namespace: mine.namespace },
    });
    await cluster.objects.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'sops', namespace: 'flux-system' },
    });
    await remove('tool');
    expect(await cluster.objects.read(mine)).not.toBeNull();
    expect(await read('v1', 'Secret', 'sops')).not.toBeNull();
    expect(await read('apps/v1', 'Deployment', 'source-controller')).toBeNull();
    const labelSelector = 'app.kubernetes.io/managed-by=fairlead,fairlead.dev/bundle';
    const kinds = [
      ['apiextensions.k8s.io/v1', 'CustomResourceDefinition'],
      ['rbac.authorization.k8s.io/v1', 'ClusterRole'],
      ['rbac.authorization.k8s.io/v1', 'ClusterRoleBinding'],
      ['v1', 'Namespace'],
      ['v1', 'Secret'],
      ['v1', 'ServiceAccount'],
      ['v1', 'Service'],
      ['networking.k8s.io/v1', 'NetworkPolicy'],
    ];
    for (const [apiVersion = '', kind = ''] of kinds) {
      expect(await cluster.objects.list({ apiVersion, kind }, { labelSelector })).toEqual([]);
    }
  });
});
