import { describe, expect, it } from 'vitest';
import { objectIn, objectsOf } from '../testing/manifest-objects.js';
import { renderImportManifest, type ImportManifestInput } from './import-manifest.js';

const bootstrapToken = 'fl1.aa.id.secret-part';
const input: ImportManifestInput = {
  cluster: { name: 'demo', id: '0d0d7f0e-6d0e-4b5c-9a0c-3d9f6d1f0001' },
  endpoints: ['gw-a.example.test:7444', '[::1]:7544'],
  pins: ['ab'.repeat(32), 'cd'.repeat(32)],
  trustDomain: 'fairlead.local',
  links: 1,
  targets: [],
  egress: [],
  installer: null,
  image: 'registry.example.test/fairlead/agent:0.1.0',
  bootstrapToken,
  values: {},
};

const manifest = renderImportManifest(input);

describe('renderImportManifest', () => {
  it('is deterministic and lists the namespace first and the workload last', () => {
    expect(renderImportManifest(input)).toBe(manifest);
    expect(objectsOf(manifest).map(({ kind }) => kind)).toEqual([
      'Namespace',
      'ServiceAccount',
      'ClusterRole',
      'ClusterRoleBinding',
      'Role',
      'RoleBinding',
      'ClusterRoleBinding',
      'ClusterRoleBinding',
      'ClusterRoleBinding',
      'ClusterRoleBinding',
      'ClusterRoleBinding',
      'Secret',
      'Secret',
      'Lease',
      'PodDisruptionBudget',
      'NetworkPolicy',
      'Deployment',
    ]);
  });

  it('labels every object', () => {
    for (const { metadata } of objectsOf(manifest)) {
      expect(metadata.labels).toMatchObject({ 'app.kubernetes.io/part-of': 'fairlead' });
    }
  });

  it('grants impersonation of any user and of six groups, a list of nodes, the UID of its cluster, and nothing else cluster-wide', () => {
    expect(objectIn(manifest, 'ClusterRole', 'fairlead-agent').rules).toEqual([
      { apiGroups: [''], resources: ['users'], verbs: ['impersonate'] },
      {
        apiGroups: [''],
        resources: ['groups'],
        resourceNames: [
          'fairlead:admins',
          'fairlead:view',
          'fairlead:edit',
          'fairlead:admin',
          'fairlead:cluster-admin',
          'system:authenticated',
        ],
        verbs: ['impersonate'],
      },
      { apiGroups: [''], resources: ['nodes'], verbs: ['list'] },
      { apiGroups: [''], resources: ['namespaces'], resourceNames: ['kube-system'], verbs: ['get'] },
    ]);
  });

  it('binds each group of a role to the ClusterRole of the same name, and that of the administrators to cluster-admin', () => {
    const bindings = objectsOf(manifest).filter(({ kind }) => kind === 'ClusterRoleBinding') as unknown as {
      roleRef: { name: string };
      subjects: { kind: string; name: string }[];
    }[];
    const groups = bindings.flatMap(({ roleRef, subjects: [subject] }) =>
      subject?.kind === 'Group' ? [[subject.name, roleRef.name]] : [],
    );
    expect(groups).toEqual([
      ['fairlead:admins', 'cluster-admin'],
      ['fairlead:view', 'view'],
      ['fairlead:edit', 'edit'],
      ['fairlead:admin', 'admin'],
      ['fairlead:cluster-admin', 'cluster-admin'],
    ]);
  });

  it('runs two pods, on two nodes where there are two, of which a drain or a rollout leaves one', () => {
    const { spec } = objectIn(manifest, 'Deployment');
    expect(spec).toMatchObject({
      replicas: 2,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    });
    const { affinity, topologySpreadConstraints } = spec.template.spec as unknown as Record<string, unknown>;
    expect(JSON.stringify(affinity)).toContain('"topologyKey":"kubernetes.io/hostname"');
    expect(topologySpreadConstraints).toMatchObject([{ whenUnsatisfiable: 'ScheduleAnyway' }]);
    const budget = objectsOf(manifest).find(({ kind }) => kind === 'PodDisruptionBudget');
    expect(budget).toMatchObject({ spec: { minAvailable: 1 } });
  });

  it('brings the identity Secret without data, so that applying again erases nothing', () => {
    const secret = objectIn(manifest, 'Secret', 'fairlead-agent-identity');
    expect(Object.keys(secret)).toEqual(['apiVersion', 'kind', 'metadata', 'type']);
  });

  it('of an adoption holds no token, names no cluster, and tells the agent to ask', () => {
    const text = renderImportManifest({ ...input, cluster: null, bootstrapToken: null });
    const secrets = objectsOf(text).filter(({ kind }) => kind === 'Secret');
    expect(secrets.map(({ metadata }) => metadata.name)).toEqual(['fairlead-agent-identity']);
    const deployment = objectIn(text, 'Deployment');
    expect(deployment.spec.template.spec.containers[0].env).toContainEqual({
      name: 'FAIRLEAD_ADOPTION',
      value: 'true',
    });
    expect([deployment.metadata.annotations, deployment.spec.template.metadata.annotations]).toEqual([
      undefined,
      undefined,
    ]);
    expect(text).not.toMatch(/demo|fl1\./);
    expect(manifest).not.toContain('FAIRLEAD_ADOPTION');
  });

  it('that goes with an identity which was handed out names the cluster, and holds no secret and asks for nothing', () => {
    const text = renderImportManifest({ ...input, bootstrapToken: null });
    expect(text).toContain('fairlead.dev/cluster-name: demo');
    expect(text).not.toMatch(/FAIRLEAD_ADOPTION|fl1\./);
    // Whoever applies it beside the Secret with the identity must not have that emptied.
    expect(text).not.toContain('name: fairlead-agent-bootstrap\n');
  });

  it('holds the token once, in its Secret', () => {
    const encoded = Buffer.from(bootstrapToken).toString('base64');
    expect(objectIn(manifest, 'Secret', 'fairlead-agent-bootstrap').data).toEqual({ token: encoded });
    expect(manifest.split(encoded)).toHaveLength(2);
    expect(manifest).not.toContain(bootstrapToken);
  });

  it('tells the agent where to go and what to trust', () => {
    const { env } = objectIn(manifest, 'Deployment').spec.template.spec.containers[0];
    expect(Object.fromEntries(env.map(({ name, value }) => [name, value]))).toEqual({
      FAIRLEAD_ENDPOINTS: 'gw-a.example.test:7444,[::1]:7544',
      FAIRLEAD_ROOT_PINS: `${'ab'.repeat(32)},${'cd'.repeat(32)}`,
      FAIRLEAD_TRUST_DOMAIN: 'fairlead.local',
      FAIRLEAD_CLUSTER_ID: input.cluster?.id,
      FAIRLEAD_LINKS: '1',
      FAIRLEAD_BOOTSTRAP_TOKEN_FILE: '/var/run/secrets/fairlead/token',
      FAIRLEAD_IDENTITY_BUNDLE_FILE: '/var/run/secrets/fairlead/identity-bundle.json',
      FAIRLEAD_IDENTITY: 'secret:fairlead-system/fairlead-agent-identity',
      FAIRLEAD_HEALTH_LISTEN: '[::]:8080',
    });
  });

  it('names targets only where there are some', () => {
    const rules = ['10.0.0.0/8:10250', '*.shop.svc:443', '[fd00::/8]:1-1024'];
    const deployment = objectIn(renderImportManifest({ ...input, targets: rules }), 'Deployment');
    const { env } = deployment.spec.template.spec.containers[0];
    expect(env).toContainEqual({ name: 'FAIRLEAD_ALLOW_TARGETS', value: rules.join(',') });
    expect(manifest).not.toContain('FAIRLEAD_ALLOW_TARGETS');
  });

  it('has a way out only where one is wanted: a Service, the ports of the agent, and who may come to them', () => {
    const egress = ['2222=git.example.com:22', '2223=[fd00::1]:7999'];
    const text = renderImportManifest({ ...input, egress });
    const service = objectIn(text, 'Service');
    expect(service.metadata).toMatchObject({ name: 'fairlead-egress', namespace: 'fairlead-system' });
    expect(service.spec).toMatchObject({
      type: 'ClusterIP',
      ipFamilyPolicy: 'PreferDualStack',
      ports: [
        { port: 2222, targetPort: 'egress-2222' },
        { port: 2223, targetPort: 'egress-2223' },
      ],
    });
    const { template } = objectIn(text, 'Deployment').spec;
    expect(template.metadata.labels).toMatchObject(service.spec.selector);
    const [container] = template.spec.containers;
    expect(container.env).toContainEqual({ name: 'FAIRLEAD_EGRESS', value: egress.join(',') });
    expect(container.ports?.map(({ containerPort }) => containerPort)).toEqual([8080, 2222, 2223]);
    const { ingress } = objectIn(text, 'NetworkPolicy', 'fairlead-agent').spec;
    expect(ingress).toHaveLength(2);
    expect(ingress[1]?.ports.map(({ port }) => port)).toEqual([2222, 2223]);
    expect(JSON.stringify(ingress[1]?.from)).toContain('"flux-system","argocd"');
    expect(manifest).not.toMatch(/EGRESS|fairlead-egress|kind: Service$/m);
  });

  it('tells the agent where to send its spans only where that is set', () => {
    const endpoint = 'http://otel-collector.observability.svc:4318';
    const deployment = objectIn(renderImportManifest({ ...input, tracingEndpoint: endpoint }), 'Deployment');
    const { env } = deployment.spec.template.spec.containers[0];
    expect(env).toContainEqual({ name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: endpoint });
    expect(manifest).not.toContain('OTEL_');
  });

  it('tells the agent what to call gateways only where that is set', () => {
    const deployment = objectIn(renderImportManifest({ ...input, serverName: 'link.example.com' }), 'Deployment');
    const { env } = deployment.spec.template.spec.containers[0];
    expect(env).toContainEqual({ name: 'FAIRLEAD_SERVER_NAME', value: 'link.example.com' });
    expect(manifest).not.toContain('FAIRLEAD_SERVER_NAME');
  });

  it('lets the agent dial any TCP port: its own rules say which', () => {
    const { egress } = objectIn(manifest, 'NetworkPolicy').spec;
    expect(egress).toContainEqual({ ports: [{ protocol: 'TCP' }] });
    expect(egress).toContainEqual({ ports: [53, 5353].map((port) => ({ protocol: 'UDP', port })) });
  });

  it('restarts the agent when the token changes, and only then', () => {
    const again = renderImportManifest({ ...input, bootstrapToken: 'fl1.aa.id2.other' });
    const changed = again.split('\n').filter((line) => !manifest.split('\n').includes(line));
    expect(changed.map((line) => line.trim().split(':')[0])).toEqual(['token', 'fairlead.dev/bootstrap-token-sha256']);
  });
});
