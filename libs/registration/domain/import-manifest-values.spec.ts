import { Manifest, ManifestValues, TargetRules } from '@fairlead/contracts';
import { describe, expect, it } from 'vitest';
import { MANIFEST_INPUT } from '../testing/manifest-input.js';
import { objectIn, objectsOf } from '../testing/manifest-objects.js';
import { renderImportManifest, renderInstallerManifest, type ImportManifestInput } from './import-manifest.js';

function rendered(values: ManifestValues, more: Partial<ImportManifestInput> = {}): string {
  return renderImportManifest({ ...MANIFEST_INPUT, values, ...more });
}

const podOf = (manifest: string, name = 'fairlead-agent') => objectIn(manifest, 'Deployment', name).spec.template;
const agentOf = (manifest: string) => podOf(manifest).spec.containers[0];

describe('a manifest with values', () => {
  it('is in the namespace that they name, with all that belongs to it, and nowhere else', () => {
    const manifest = rendered({ namespace: 'edge' }, { egress: ['2222=git.example.com:22'] });
    expect(manifest).not.toContain('fairlead-system');
    const elsewhere = objectsOf(manifest).filter(({ metadata }) => metadata.namespace !== 'edge');
    expect(elsewhere.map(({ kind, metadata }) => `${kind}/${metadata.name}`)).toEqual([
      'Namespace/edge',
      'ClusterRole/fairlead-agent',
      'ClusterRoleBinding/fairlead-agent',
      'ClusterRoleBinding/fairlead-admins',
      'ClusterRoleBinding/fairlead-view',
      'ClusterRoleBinding/fairlead-edit',
      'ClusterRoleBinding/fairlead-admin',
      'ClusterRoleBinding/fairlead-cluster-admin',
      'ClusterRoleBinding/fairlead-installer',
    ]);
    expect(agentOf(manifest).env).toContainEqual({
      name: 'FAIRLEAD_IDENTITY',
      value: 'secret:edge/fairlead-agent-identity',
    });
    const { env } = podOf(manifest, 'fairlead-installer').spec.containers[0];
    expect(env).toContainEqual({ name: 'FAIRLEAD_NAMESPACE', value: 'edge' });
  });

  it('pulls, places and ranks every pod as they say', () => {
    const placement = {
      imagePullSecrets: [{ name: 'registry' }],
      nodeSelector: { pool: 'infra' },
      tolerations: [{ key: 'dedicated', operator: 'Exists' as const }],
      priorityClassName: 'system-cluster-critical',
    };
    const podLabels = { team: 'edge' };
    const manifest = rendered({ ...placement, podLabels, podAnnotations: { 'example.com/a': 'b' } });
    for (const name of ['fairlead-agent', 'fairlead-installer']) {
      const { metadata, spec } = podOf(manifest, name);
      expect(spec).toMatchObject(placement);
      expect(metadata.labels).toMatchObject({ team: 'edge', 'app.kubernetes.io/name': name });
      expect(metadata.annotations).toMatchObject({ 'example.com/a': 'b' });
    }
    expect(podOf(manifest).metadata.annotations).toHaveProperty(['fairlead.dev/bootstrap-token-sha256']);
  });

  it('gives the agent what resources they name, and keeps the others', () => {
    const { resources } = agentOf(rendered({ resources: { limits: { cpu: '1', memory: '1Gi' } } }));
    expect(resources).toEqual({ requests: { cpu: '50m', memory: '128Mi' }, limits: { cpu: '1', memory: '1Gi' } });
  });

  it('tells the agent of a proxy and leaves its password where it is', () => {
    const proxy = { httpsProxy: 'http://proxy:3128', noProxy: ['10.0.0.0/8', '.svc'], credentialsSecret: 'proxy' };
    const manifest = rendered({ proxy });
    const { env, volumeMounts } = agentOf(manifest);
    expect(env).toEqual(
      expect.arrayContaining([
        { name: 'HTTPS_PROXY', value: 'http://proxy:3128' },
        { name: 'NO_PROXY', value: '10.0.0.0/8,.svc' },
        { name: 'FAIRLEAD_PROXY_CREDENTIALS_DIR', value: '/var/run/secrets/fairlead-proxy' },
      ]),
    );
    expect(volumeMounts).toContainEqual(
      expect.objectContaining({ mountPath: '/var/run/secrets/fairlead-proxy', readOnly: true }),
    );
    expect(podOf(manifest).spec.volumes).toContainEqual(
      expect.objectContaining({
        secret: {
          secretName: 'proxy',
          items: [
            { key: 'username', path: 'username' },
            { key: 'password', path: 'password' },
          ],
          defaultMode: 0o440,
        },
      }),
    );
  });

  it('brings certificates in a ConfigMap, and new pods with others', () => {
    const one = rendered({ caBundle: 'ONE' });
    expect(objectIn(one, 'ConfigMap', 'fairlead-agent-ca')).toMatchObject({ data: { 'ca.crt': 'ONE' } });
    expect(agentOf(one).env).toContainEqual({ name: 'NODE_EXTRA_CA_CERTS', value: '/etc/fairlead-ca/ca.crt' });
    const changed = podOf(rendered({ caBundle: 'TWO' })).metadata.annotations;
    expect(changed).not.toEqual(podOf(one).metadata.annotations);
  });

  it('puts the agent alone into the network of its node, where only that node asks it', () => {
    const manifest = rendered({ hostNetwork: true, healthPort: 18_080 });
    const { spec } = podOf(manifest);
    expect(spec).toMatchObject({ hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' });
    const container = agentOf(manifest);
    expect(container).toMatchObject({
      ports: [{ name: 'health', containerPort: 18_080 }],
      livenessProbe: { httpGet: { host: '127.0.0.1', port: 'health', path: '/healthz' } },
      readinessProbe: { httpGet: { host: '127.0.0.1', port: 'health', path: '/readyz' } },
    });
    expect(container.env).toContainEqual({ name: 'FAIRLEAD_HEALTH_LISTEN', value: '127.0.0.1:18080' });
    const level = objectsOf(manifest).find(({ kind }) => kind === 'Namespace')?.metadata.labels;
    expect(level).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'privileged' });
    expect(podOf(manifest, 'fairlead-installer').spec.hostNetwork).toBeUndefined();
  });

  it('replaces the agents at once where both would want one port of their only node', () => {
    const strategyOf = (values: ManifestValues): unknown =>
      objectIn(rendered(values), 'Deployment', 'fairlead-agent').spec.strategy;
    expect(strategyOf({ hostNetwork: true })).toEqual({ type: 'Recreate' });
    expect(strategyOf({})).toMatchObject({ rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } });
  });

  it('loosens nothing else: containers are as without them', () => {
    const context = agentOf(rendered({})).securityContext;
    expect(agentOf(rendered({ hostNetwork: true })).securityContext).toEqual(context);
  });
});

it('fits into an answer with the most that a cluster may have', () => {
  const toleration = { key: 'k'.repeat(63), operator: 'Equal', value: 'v'.repeat(63), effect: 'NoExecute' };
  const note = '\n'.repeat(2_500);
  const values = ManifestValues.parse({
    tolerations: Array.from({ length: 32 }, () => ({ ...toleration, tolerationSeconds: 1 })),
    podAnnotations: { a: note, b: note },
  });
  const targets = TargetRules.parse(Array(64).fill(`${'x'.repeat(298)}:1`));
  const text = rendered(values, { targets });
  expect(text.length).toBeGreaterThan(50_000);
  expect(Manifest.safeParse(text).success).toBe(true);
});

it('an installer that comes later is where the values say', () => {
  const { cluster, installer, pins, trustDomain } = MANIFEST_INPUT;
  const given = { name: cluster.name, clusterId: cluster.id, pins, trustDomain, image: installer.image };
  const values: ManifestValues = {
    namespace: 'edge',
    nodeSelector: { pool: 'infra' },
    proxy: { httpsProxy: 'http://p:1', credentialsSecret: 's' },
  };
  const later = renderInstallerManifest({ ...given, values });
  const own = objectsOf(rendered(values)).filter(({ metadata }) => /installer|handover/.test(metadata.name));
  expect(own).toHaveLength(6);
  expect(objectsOf(later)).toEqual(expect.arrayContaining(own));
  expect(later).not.toContain('fairlead-system');
});

it('gives the agent one user to impersonate, and an extra, only where names are to be extras', () => {
  const setting = { name: 'FAIRLEAD_USER_NAMES', value: 'extra' };
  expect(agentOf(rendered({ userNames: 'extra' })).env).toContainEqual(setting);
  expect(rendered({ userNames: 'extra' })).toContain('userextras/fairlead.dev/user');
  for (const values of [{}, { userNames: 'user' as const }]) {
    expect(rendered(values)).not.toMatch(/FAIRLEAD_USER_NAMES|userextras/);
  }
});

it('tells the agent to serve nobody without an access statement only where that is set', () => {
  const setting = { name: 'FAIRLEAD_REQUIRE_STATEMENTS', value: 'true' };
  expect(agentOf(rendered({ requireStatements: true })).env).toContainEqual(setting);
  for (const values of [{}, { requireStatements: false }]) expect(rendered(values)).not.toContain(setting.name);
});
