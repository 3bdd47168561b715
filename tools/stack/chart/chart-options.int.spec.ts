// What the chart makes of each of its options; the profiles are in chart.int.spec.ts.
import { describe, expect, it } from 'vitest';
import {
  environmentOf,
  notesOf,
  renderChart,
  resourceOf,
  resourcesOf,
  type PodSpec,
  type Resource,
} from './render-chart.js';

const podOf = (resources: readonly Resource[], name: string): PodSpec & Record<string, unknown> =>
  resources.find(({ spec, metadata }) => spec?.template && metadata.name === name)!.spec!.template!.spec as never;

const settingsOf = (resources: readonly Resource[]): Readonly<Record<string, string>> =>
  resourceOf(resources, 'ConfigMap', 'fairlead-settings')!.data!;

const valuesOf = ({ containers }: PodSpec): Record<string, string | undefined> => environmentOf(containers[0]);

it('gives pods the time that they go on accepting, and more', async () => {
  const seconds = (resources: readonly Resource[]) =>
    ['api', 'gateway-a', 'keys'].map((name) => podOf(resources, `fairlead-${name}`)['terminationGracePeriodSeconds']);
  expect(seconds(await resourcesOf('production'))).toEqual([60, 60, 60]);
  const resources = await resourcesOf('production', {
    gateway: { doorGraceSeconds: 120 },
    api: { graceSeconds: 31 },
    keys: { terminationGracePeriodSeconds: 15 },
  });
  expect(seconds(resources)).toEqual([61, 150, 15]);
  expect(valuesOf(podOf(resources, 'fairlead-api'))['FAIRLEAD_API_GRACE_SECONDS']).toBe('31');
});

describe('where pods go', () => {
  it('pins a gateway to its zone, and tells agents of it', async () => {
    const resources = await resourcesOf('production', { gateways: [{ name: 'a', zone: 'eu-1a' }, { name: 'b' }] });
    const [pinned, free] = [podOf(resources, 'fairlead-gateway-a'), podOf(resources, 'fairlead-gateway-b')];
    expect(pinned).toMatchObject({ nodeSelector: { 'topology.kubernetes.io/zone': 'eu-1a' } });
    expect(free).not.toHaveProperty('nodeSelector');
    expect([pinned, free].map((pod) => valuesOf(pod)['FAIRLEAD_ZONE'])).toEqual(['eu-1a', 'default']);
  });

  it('takes selectors, tolerations, labels, priority and pull secrets, for all pods and for one process', async () => {
    const resources = await resourcesOf('single', {
      imagePullSecrets: ['pull'],
      nodeSelector: { pool: 'system' },
      tolerations: [{ key: 'system', operator: 'Exists' }],
      labels: { team: 'platform' },
      annotations: { note: 'all' },
      priorityClassName: 'important',
      keys: { nodeSelector: { pool: 'keys' }, tolerations: [{ key: 'keys', operator: 'Exists' }] },
    });
    expect(podOf(resources, 'fairlead-api')).toMatchObject({
      imagePullSecrets: [{ name: 'pull' }],
      nodeSelector: { pool: 'system' },
      tolerations: [{ key: 'system' }],
      priorityClassName: 'important',
    });
    expect(podOf(resources, 'fairlead-keys')).toMatchObject({
      nodeSelector: { pool: 'keys' },
      tolerations: [{ key: 'keys' }, { key: 'system' }],
    });
    const workloads = resources.filter(({ spec }) => spec?.template);
    for (const { metadata, spec } of workloads) {
      expect([metadata.name, spec!.template!.spec]).toMatchObject([
        metadata.name,
        { imagePullSecrets: [{ name: 'pull' }] },
      ]);
    }
    const api = resourceOf(resources, 'Deployment', 'fairlead-api')!.spec!.template!.metadata;
    expect(api).toMatchObject({ labels: { team: 'platform' }, annotations: { note: 'all' } });
  });

  it('keeps replicas apart as firmly as it is told, and has the disruption budgets that are given', async () => {
    const resources = await resourcesOf('production', {
      api: {
        spread: { nodes: 'DoNotSchedule', zones: '' },
        disruptionBudget: { minAvailable: 1 },
      },
      gitops: { disruptionBudget: { maxUnavailable: null } },
    });
    expect(podOf(resources, 'fairlead-api')['topologySpreadConstraints']).toMatchObject([
      { topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'DoNotSchedule' },
    ]);
    expect(resourceOf(resources, 'PodDisruptionBudget', 'fairlead-api')?.spec).toMatchObject({ minAvailable: 1 });
    expect(resourceOf(resources, 'PodDisruptionBudget', 'fairlead-api')?.spec).not.toHaveProperty('maxUnavailable');
    const evicts = (name: string): unknown =>
      resourceOf(resources, 'PodDisruptionBudget', name)?.spec?.['unhealthyPodEvictionPolicy'];
    // An unready gateway may carry connections; an unready service does nothing that its node has to wait for.
    expect([evicts('fairlead-access'), evicts('fairlead-gateway')]).toEqual(['AlwaysAllow', undefined]);
    expect(resourceOf(resources, 'PodDisruptionBudget', 'fairlead-gitops')).toBeUndefined();
  });
});

it('bounds what a gateway may fill its node with, unless its spool has a volume of its own', async () => {
  const volumeOf = async (audit: object): Promise<unknown> => {
    const pod = podOf(await resourcesOf('production', { gateway: { audit } }), 'fairlead-gateway-a');
    return (pod.volumes as { name: string }[]).find(({ name }) => name === 'audit');
  };
  expect(await volumeOf({ spoolBytes: 268_435_456 })).toEqual({ name: 'audit', emptyDir: { sizeLimit: 335_544_320 } });
  const volume = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  expect(await volumeOf({ volume })).toBeUndefined();
});

describe('how it is reached', () => {
  it('shows all processes the addresses of clients, where a load balancer or a node stands in front', async () => {
    const policies = async (values: object): Promise<unknown[]> => {
      const resources = await resourcesOf('production', values);
      const services = ['fairlead-api', 'fairlead-gateway'].map((name) => resourceOf(resources, 'Service', name));
      return services.map((service) => service?.spec?.['externalTrafficPolicy']);
    };
    const api = { service: { type: 'LoadBalancer' } };
    expect(await policies({ api })).toEqual(['Local', 'Local']);
    expect(await policies({ api: { service: { ...api.service, externalTrafficPolicy: 'Cluster' } } })).toEqual([
      'Cluster',
      'Local',
    ]);
    expect(await policies({})).toEqual([undefined, 'Local']);
  });

  const one = { names: { connect: 'connect.example.test', clusterDomain: 'clusters.example.test' } };

  it('stands behind one port of the Gateway API, by the server names of docs/one-port.md', async () => {
    const gatewayApi = { enabled: true, parentRefs: [{ name: 'edge', namespace: 'gateways' }] };
    const resources = await resourcesOf('production', { ...one, gatewayApi });
    const routes = resources.filter(({ kind }) => kind === 'TLSRoute');
    const told = routes.map(({ spec }) => {
      const [{ backendRefs }] = spec!['rules'] as [{ backendRefs: [{ name: string; port: number }] }];
      return [spec!['hostnames'], backendRefs[0].name, backendRefs[0].port];
    });
    expect(told).toEqual([
      [['fairlead.example.test'], 'fairlead-api', 443],
      [['connect.example.test'], 'fairlead-gateway', 7447],
      [['gateway.example.test', '*.clusters.example.test'], 'fairlead-gateway', 7443],
      [['link.fairlead.invalid'], 'fairlead-gateway', 7444],
    ]);
    expect(resourceOf(resources, 'Service', 'fairlead-gateway')?.spec).toMatchObject({ type: 'ClusterIP' });
    expect(settingsOf(resources)).toMatchObject({
      FAIRLEAD_PUBLIC_URL: 'https://fairlead.example.test',
      FAIRLEAD_DOORS: 'gateway=https://gateway.example.test',
      FAIRLEAD_CONNECT_DOORS: 'gateway=https://connect.example.test',
      FAIRLEAD_LINK_ENDPOINTS: 'gateway.example.test:443',
      FAIRLEAD_GATEWAY_SERVING_NAMES: 'gateway.example.test,connect.example.test,*.clusters.example.test',
    });
    const nameless = await renderChart('production', { gatewayApi });
    expect(nameless).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('CONNECT door needs a name of its own'),
    });
  });

  it('believes the balancers that are named, and nothing that is no address', async () => {
    const resources = await resourcesOf('production', { proxyProtocolFrom: ['10.0.0.5', '10.1.0.0/24'] });
    expect(settingsOf(resources)['FAIRLEAD_PROXY_PROTOCOL_FROM']).toBe('10.0.0.5,10.1.0.0/24');
    expect(await renderChart('production', { proxyProtocolFrom: ['anybody'] })).toMatchObject({ code: 1 });
  });

  it('asks cert-manager for certificates, and serves with them', async () => {
    const certManager = { enabled: true, issuerRef: { name: 'ca', kind: 'ClusterIssuer' } };
    const resources = await resourcesOf('production', { ...one, certManager });
    const names = ['gateway.example.test', 'connect.example.test', '*.clusters.example.test'];
    expect(resourceOf(resources, 'Certificate', 'fairlead-doors')?.spec).toMatchObject({ dnsNames: names });
    expect(resourceOf(resources, 'Certificate', 'fairlead-api')?.spec).toMatchObject({
      dnsNames: ['fairlead.example.test'],
    });
    const [gateway, api] = [podOf(resources, 'fairlead-gateway-a'), podOf(resources, 'fairlead-api')];
    expect(valuesOf(gateway)).toMatchObject({ FAIRLEAD_DOOR_TLS_CERT_FILE: '/etc/fairlead-tls/tls.crt' });
    expect(valuesOf(api)).toMatchObject({ FAIRLEAD_TLS_KEY_FILE: '/etc/fairlead-tls/tls.key' });
    expect(gateway.volumes).toContainEqual(
      expect.objectContaining({ secret: expect.objectContaining({ secretName: 'fairlead-doors-tls' }) }),
    );
  });
});

it('starts gateways beyond the first by the live connections of all', async () => {
  const autoscaling = { enabled: true, always: 1, prometheusUrl: 'http://prometheus:9090', connectionsPerGateway: 100 };
  const resources = await resourcesOf('production', { autoscaling });
  const scaled = resources.filter(({ kind }) => kind === 'ScaledObject');
  const steps = scaled.map(({ metadata, spec }) => {
    const [{ metadata: trigger }] = spec!['triggers'] as [{ metadata: { activationThreshold: string } }];
    return [metadata.name, trigger.activationThreshold];
  });
  expect(steps).toEqual([
    ['fairlead-gateway-b', '100'],
    ['fairlead-gateway-c', '200'],
  ]);
  const replicas = ['a', 'b', 'c'].map(
    (name) => resourceOf(resources, 'StatefulSet', `fairlead-gateway-${name}`)?.spec?.replicas,
  );
  // An upgrade must not set what the scaler set.
  expect(replicas).toEqual([1, undefined, undefined]);
});

it('is asked for metrics by a PodMonitor, if that is wanted', async () => {
  const monitor = resourceOf(
    await resourcesOf('production', { podMonitor: { enabled: true } }),
    'PodMonitor',
    'fairlead',
  );
  expect(monitor?.spec?.['podMetricsEndpoints']).toMatchObject([{ port: 'health', path: '/metrics' }]);
});

it('keeps checkpoints of audit logs on a volume that outlives the pod of keys, if there is one', async () => {
  const made = async (keys: object) => {
    const resources = await resourcesOf('production', { keys });
    const deployment = resourceOf(resources, 'Deployment', 'fairlead-keys');
    const pod = podOf(resources, 'fairlead-keys');
    expect(pod.containers[0]?.volumeMounts).toContainEqual({ name: 'checkpoints', mountPath: '/var/lib/fairlead' });
    const claim = resourceOf(resources, 'PersistentVolumeClaim', 'fairlead-keys-checkpoints')?.spec;
    const hasDir = pod.containers[0]?.env?.some(({ name }) => name === 'FAIRLEAD_AUDIT_CHECKPOINTS_DIR') ?? false;
    const volume = (pod.volumes as { name: string }[]).find(({ name }) => name === 'checkpoints');
    return { hasDir, claim, strategy: deployment?.spec?.['strategy'], volume };
  };
  const emptyDir = { name: 'checkpoints', emptyDir: { sizeLimit: '256Mi' } };
  const claimed = { name: 'checkpoints', persistentVolumeClaim: { claimName: 'fairlead-keys-checkpoints' } };
  const volume = (mode: string) => ({ accessModes: [mode], resources: { requests: { storage: '1Gi' } } });
  const once = { claim: volume('ReadWriteOnce'), strategy: { type: 'Recreate' } };
  expect(await made({})).toMatchObject({ hasDir: true, volume: claimed, ...once });
  expect(await made({ checkpoints: { volume: null } })).toMatchObject({
    hasDir: true,
    claim: undefined,
    volume: emptyDir,
  });
  // Each would have one of its own, or wait for the one that is at another's node.
  const none = { hasDir: false, volume: emptyDir, claim: undefined, strategy: undefined };
  expect(await made({ replicas: 2, checkpoints: { volume: null } })).toEqual(none);
  expect(await made({ replicas: 2 })).toEqual(none);
  const many = await made({ replicas: 2, checkpoints: { volume: volume('ReadWriteMany') } });
  expect(many).toMatchObject({ hasDir: true, volume: claimed, claim: volume('ReadWriteMany') });
  expect(many.strategy).toBeUndefined();
});

it('warns who installs it where checkpoints of audit logs would not outlive the pod of keys', async () => {
  expect(await notesOf('production')).not.toContain('WARNING');
  const volume = { accessModes: ['ReadWriteMany'], resources: { requests: { storage: '1Gi' } } };
  expect(await notesOf('production', { keys: { replicas: 2, checkpoints: { volume } } })).not.toContain('WARNING');
  expect(await notesOf('production', { keys: { replicas: 2 } })).toContain('keys has 2 replicas and no volume');
  expect(await notesOf('single')).toContain('go with the pod of keys');
});

it('gives one process more settings, files and ways out', async () => {
  const resources = await resourcesOf('production', {
    keys: {
      extraEnv: [{ name: 'FAIRLEAD_VAULT_URL', value: 'https://vault:8200' }],
      extraVolumes: [{ name: 'token', secret: { secretName: 'vault-token' } }],
      extraVolumeMounts: [{ name: 'token', mountPath: '/run/vault' }],
      extraEgress: [{ to: [{ podSelector: { matchLabels: { app: 'vault' } } }], ports: [{ port: 8200 }] }],
    },
  });
  const pod = podOf(resources, 'fairlead-keys');
  const migrate = pod.initContainers!.find(({ name }) => name === 'migrate');
  for (const container of [pod.containers[0], migrate]) {
    expect(container?.env).toContainEqual({ name: 'FAIRLEAD_VAULT_URL', value: 'https://vault:8200' });
    expect(container?.volumeMounts).toContainEqual({ name: 'token', mountPath: '/run/vault' });
  }
  expect(resourceOf(resources, 'NetworkPolicy', 'keys-extra')?.spec?.['egress']).toMatchObject([
    { ports: [{ port: 8200 }] },
  ]);
});

it('has no file for a master key that is in a KMS alone', async () => {
  const externalSecrets = { enabled: true, secretStoreRef: { name: 'vault' } };
  const filesOf = (resources: readonly Resource[]): unknown => {
    const { data } = resourceOf(resources, 'ExternalSecret', 'fairlead-keys')!.spec as never as {
      data: { secretKey: string }[];
    };
    return data.map(({ secretKey }) => secretKey);
  };
  const inFile = await resourcesOf('production', { externalSecrets });
  expect(valuesOf(podOf(inFile, 'fairlead-keys'))['FAIRLEAD_MASTER_KEY_FILE']).toBe('/run/fairlead/master.key');
  expect(filesOf(inFile)).toEqual(['nats.seed', 'database.url', 'master.key']);
  const inKms = await resourcesOf('production', { externalSecrets, keys: { masterKeyFile: false } });
  expect(valuesOf(podOf(inKms, 'fairlead-keys'))).not.toHaveProperty('FAIRLEAD_MASTER_KEY_FILE');
  expect(filesOf(inKms)).toEqual(['nats.seed', 'database.url']);
});

it('takes images of the nodes without a digest, asks nobody for them, and only with NATS and Postgres brought along', async () => {
  const values = { bundled: { localImages: true }, images: { api: 'localhost/fairlead/api:1' } };
  const resources = await resourcesOf('single', values);
  expect(podOf(resources, 'fairlead-api').containers[0]).toMatchObject({
    image: 'localhost/fairlead/api:1',
    imagePullPolicy: 'Never',
  });
  expect(podOf(resources, 'fairlead-keys').containers[0].imagePullPolicy).toBe('IfNotPresent');
  expect(settingsOf(resources)['FAIRLEAD_INSECURE_IMAGE_TAGS']).toBe('true');
  const elsewhere = { ...values, images: { api: 'docker.io/fairlead/api:1' } };
  expect(await renderChart('single', elsewhere)).toMatchObject({ code: 1 });
  expect(await renderChart('production', values)).toMatchObject({ code: 1 });
  const digests = await resourcesOf('production', { bundled: { localImages: true } });
  expect(settingsOf(digests)).not.toHaveProperty('FAIRLEAD_INSECURE_IMAGE_TAGS');
});
