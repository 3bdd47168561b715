import { kubectlOf, type Kubectl } from '@fairlead/testbed';
import type { KubeObject, ObjectRef } from '@fairlead/kube/rest';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '@fairlead/testing';
import { readReport } from './testing/cluster.js';
import { bundleOf, handOver, handoverOf, stateOf, gitopsSpecOf } from './testing/control-plane.js';
import { startInstalledCluster, type InstalledCluster } from './testing/installed-cluster.js';
import { smallBundle } from './testing/small-bundle.js';

const bundle = bundleOf(smallBundle());
let cluster: InstalledCluster;
let kubectl: Kubectl;
let revision = 0;

beforeAll(async () => {
  cluster = await startInstalledCluster({ bundle });
  kubectl = await kubectlOf(cluster.kubeconfigPath);
  await want({});
});
afterAll(() => cluster?.[Symbol.asyncDispose]());
beforeEach(() => healthy());

async function want(more: Parameters<typeof gitopsSpecOf>[1], wanted = bundle): Promise<number> {
  revision += 1;
  await handOver(cluster.objects, await handoverOf(cluster.authority, stateOf(revision, gitopsSpecOf(wanted, more))));
  return revision;
}

const healthy = () =>
  cluster.report((report) => expect(report).toMatchObject({ phase: 'healthy', appliedRevision: revision }));

const insist = (...args: string[]): Promise<string> => kubectl.insist(args);

/** The events since a report. */
async function storyAfter(sequence: number): Promise<string[]> {
  const { events } = await readReport(cluster.objects);
  return events.filter((event) => event.sequence > sequence).map(({ step, object }) => `${step} ${object}`.trim());
}

const lastSequence = async (): Promise<number> => (await readReport(cluster.objects)).events.at(-1)?.sequence ?? 0;

function refTo(text: string): ObjectRef {
  const [kind = '', name = ''] = text.split('/');
  const [apiVersion, namespaced] = API[kind] ?? ['v1', true];
  return { apiVersion, kind, name, ...(namespaced ? { namespace: 'flux-system' } : {}) };
}

const API: Record<string, [string, boolean]> = {
  Deployment: ['apps/v1', true],
  NetworkPolicy: ['networking.k8s.io/v1', true],
  ClusterRole: ['rbac.authorization.k8s.io/v1', false],
  ClusterRoleBinding: ['rbac.authorization.k8s.io/v1', false],
  CustomResourceDefinition: ['apiextensions.k8s.io/v1', false],
  GitRepository: ['source.toolkit.fluxcd.io/v1', true],
  Kustomization: ['kustomize.toolkit.fluxcd.io/v1', true],
};

const read = (text: string): Promise<KubeObject | null> => cluster.objects.read(refTo(text));

describe('what is deleted is made again', () => {
  it.each([
    'Deployment/source-controller',
    'ServiceAccount/kustomize-controller',
    'Service/source-controller',
    'NetworkPolicy/allow-egress',
    'ClusterRole/crd-controller-flux-system',
    'ClusterRoleBinding/crd-controller-flux-system',
    'Secret/fairlead-catalog',
    'GitRepository/fairlead-catalog',
    'Kustomization/fairlead-catalog',
    'CustomResourceDefinition/gitrepositories.source.toolkit.fluxcd.io',
  ])('%s', async (text) => {
    const before = await read(text);
    const from = await lastSequence();
    await cluster.objects.remove(refTo(text));
    await eventually(async () => expect((await read(text))?.metadata.uid).not.toBe(before?.metadata.uid ?? ''));
    await eventually(async () => expect(await read(text)).not.toBeNull(), { timeoutMs: 60_000 });
    await healthy();
    await eventually(async () =>
      expect(await storyAfter(from)).toEqual(
        expect.arrayContaining([expect.stringMatching(new RegExp(`^applied .*${text.split('/')[1]}$`)), 'healthy']),
      ),
    );
  });
});

describe('what is edited by hand is put back', () => {
  const deployment = async () => {
    const { spec } = (await read('Deployment/source-controller')) as unknown as {
      spec: {
        replicas: number;
        paused?: boolean;
        template: { spec: { nodeSelector?: unknown; containers: { image: string; args: string[] }[] } };
      };
    };
    return spec;
  };

  it('replicas', async () => {
    await insist('scale', 'deployment/source-controller', '-n', 'flux-system', '--replicas=0');
    await eventually(async () => expect((await deployment()).replicas).toBe(1));
  });

  it('an image', async () => {
    await insist('set', 'image', 'deployment/source-controller', '-n', 'flux-system', 'manager=evil:1');
    await eventually(async () =>
      expect((await deployment()).template.spec.containers[0]?.image).toBe('ghcr.io/fluxcd/source-controller:v1.3.0'),
    );
  });

  it('what was added, such as a pause or a node that there is not', async () => {
    const patch = { spec: { paused: true, template: { spec: { nodeSelector: { no: 'where' } } } } };
    await insist('patch', 'deployment/source-controller', '-n', 'flux-system', '-p', JSON.stringify(patch));
    await eventually(async () => {
      const spec = await deployment();
      expect([spec.paused, spec.template.spec.nodeSelector]).toEqual([undefined, undefined]);
    });
  });

  it('what was added under a name of Kubernetes itself', async () => {
    const patch = { spec: { template: { spec: { hostNetwork: true } } } };
    const as = ['--field-manager=kube-controller-manager', '-p', JSON.stringify(patch)];
    await insist('patch', 'deployment/source-controller', '-n', 'flux-system', ...as);
    await eventually(async () => expect((await deployment()).template.spec).not.toHaveProperty('hostNetwork'));
  });

  it('what was added by somebody who strips the history of who did', async () => {
    const add = [
      { op: 'add', path: '/spec/paused', value: true },
      { op: 'replace', path: '/metadata/managedFields', value: [{}] },
    ];
    const json = ['--type=json', '-p', JSON.stringify(add)];
    await insist('patch', 'deployment/source-controller', '-n', 'flux-system', ...json);
    await eventually(async () => expect((await deployment()).paused).toBeUndefined(), { timeoutMs: 30_000 });
  });

  it('rights', async () => {
    await insist(
      'patch',
      'clusterrole/crd-controller-flux-system',
      '--type=json',
      '-p',
      '[{"op":"replace","path":"/rules","value":[]}]',
    );
    await eventually(async () =>
      expect((await read('ClusterRole/crd-controller-flux-system'))?.['rules']).toHaveLength(1),
    );
  });

  it('a port of a Service, though two of one name do not go together', async () => {
    const patch = '[{"op":"replace","path":"/spec/ports/0/port","value":81}]';
    await insist('patch', 'service/source-controller', '-n', 'flux-system', '--type=json', '-p', patch);
    await eventually(async () =>
      expect((await read('Service/source-controller'))?.['spec']).toMatchObject({
        ports: [{ name: 'http', port: 80 }],
      }),
    );
  });

  it('a definition', async () => {
    const name = 'CustomResourceDefinition/kustomizations.kustomize.toolkit.fluxcd.io';
    const path = '/spec/versions/0/schema/openAPIV3Schema/properties/spec';
    const patch = [
      {
        op: 'replace',
        path,
        value: { type: 'object', required: ['never'], properties: { never: { type: 'string' } } },
      },
    ];
    await insist('patch', 'crd/kustomizations.kustomize.toolkit.fluxcd.io', '--type=json', '-p', JSON.stringify(patch));
    await eventually(async () => expect(JSON.stringify((await read(name))?.['spec'])).not.toContain('never'), {
      timeoutMs: 60_000,
    });
  });

  it('the binding of rights to accounts, though it cannot be changed', async () => {
    // The repair may put it back between the two, and then ours is refused.
    await eventually(async () => {
      await insist('delete', 'clusterrolebinding/crd-controller-flux-system', '--ignore-not-found');
      await insist('create', 'clusterrolebinding', 'crd-controller-flux-system', '--clusterrole=view', '--user=nobody');
    });
    await eventually(async () =>
      expect((await read('ClusterRoleBinding/crd-controller-flux-system'))?.['roleRef']).toMatchObject({
        name: 'crd-controller-flux-system',
      }),
    );
  });
});

describe('what is not ours to decide', () => {
  it('an object that is annotated so is left alone', async () => {
    await insist('annotate', 'networkpolicy/allow-egress', '-n', 'flux-system', 'fairlead.dev/reconcile=disabled');
    await insist(
      'patch',
      'networkpolicy/allow-egress',
      '-n',
      'flux-system',
      '--type=merge',
      '-p',
      '{"spec":{"egress":[]}}',
    );
    const text = 'left alone, as it is annotated';
    await cluster.report(({ events, phase }) => {
      expect(events).toContainEqual(
        expect.objectContaining({ object: 'NetworkPolicy flux-system/allow-egress', message: text }),
      );
      expect(phase).toBe('healthy');
    });
    expect((await read('NetworkPolicy/allow-egress'))?.['spec']).not.toHaveProperty('egress');
    await insist('annotate', 'networkpolicy/allow-egress', '-n', 'flux-system', 'fairlead.dev/reconcile-');
    await eventually(async () => expect((await read('NetworkPolicy/allow-egress'))?.['spec']).toHaveProperty('egress'));
  });

  it('fields of an operator stay as it set them, and it is told', async () => {
    const patch = { spec: { replicas: 2 } };
    await insist(
      'patch',
      'deployment/kustomize-controller',
      '-n',
      'flux-system',
      '--field-manager=helm',
      '-p',
      JSON.stringify(patch),
    );
    await cluster.report(({ events }) => {
      expect(events).toContainEqual(expect.objectContaining({ message: 'left to others: spec.replicas of helm' }));
    });
    await healthy();
    expect((await read('Deployment/kustomize-controller'))?.['spec']).toMatchObject({ replicas: 2 });
    await insist('patch', 'deployment/kustomize-controller', '-n', 'flux-system', '-p', '{"spec":{"replicas":3}}');
    await eventually(async () =>
      expect((await read('Deployment/kustomize-controller'))?.['spec']).toMatchObject({ replicas: 1 }),
    );
  });

  it('where repairs are not wanted, what differs is told and left', async () => {
    await want({ selfHeal: 'observe' });
    await healthy();
    await insist('scale', 'deployment/source-controller', '-n', 'flux-system', '--replicas=0');
    await cluster.report((report) =>
      expect(report).toMatchObject({ phase: 'degraded', problem: { code: 'OBJECTS_DIFFER' } }),
    );
    expect((await read('Deployment/source-controller'))?.['spec']).toMatchObject({ replicas: 0 });
    await want({ selfHeal: 'enforce' });
    await healthy();
    expect((await read('Deployment/source-controller'))?.['spec']).toMatchObject({ replicas: 1 });
  });
});

describe('a controller that runs and does nothing', () => {
  it('is restarted, made anew, and somebody is told; and all is well once it works', async () => {
    const from = await lastSequence();
    cluster.standIn.frozen.add('kustomize-controller');
    await cluster.report((report) =>
      expect(report).toMatchObject({ phase: 'escalated', problem: { code: 'NOT_RECONCILING' } }),
    );
    expect(await storyAfter(from)).toEqual(
      expect.arrayContaining([
        'restarted Deployment flux-system/kustomize-controller',
        'recreated Deployment flux-system/kustomize-controller',
        'escalated',
      ]),
    );
    cluster.standIn.frozen.clear();
    await healthy();
  });
});
