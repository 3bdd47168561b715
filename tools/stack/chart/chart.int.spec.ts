import { dirname } from 'node:path';
import { SINGLETONS } from '@fairlead/contracts';
import { findBinary, startKubernetes, type KubeInfo, type Running } from '@fairlead/testbed';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { baseEnvironment } from '../process/base-environment.js';
import { runCommand, type CommandOutput } from '../process/run-command.js';
import {
  GIVEN,
  IMAGES,
  NAMESPACE,
  PROFILES,
  imageOf,
  lintChart,
  renderChart,
  resourcesOf,
  type PodSpec,
  type Resource,
} from './render-chart.js';

const CA_FILE = '/etc/fairlead/infrastructure-ca.crt';

let scratch: ScratchDir;
let kubernetes: Running<KubeInfo>;
let kubectlPath: string;

beforeAll(async () => {
  scratch = await scratchDir();
  kubernetes = await startKubernetes({ dataDir: scratch.file('kubernetes') });
  kubectlPath = (await findBinary('kubectl')).path;
  // Whoever breaks a rule of `restricted` is told so, and a warning fails the tests below.
  const labels = {
    'pod-security.kubernetes.io/enforce': 'restricted',
    'pod-security.kubernetes.io/warn': 'restricted',
  };
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE, labels } };
  const { code, stderr } = await kubectl(['create', '-f', '-'], JSON.stringify(namespace));
  if (code !== 0) throw new Error(stderr);
});
afterAll(async () => {
  await kubernetes.stop();
  await scratch[Symbol.asyncDispose]();
});

function kubectl(args: readonly string[], stdin = ''): Promise<CommandOutput> {
  const env = { ...baseEnvironment(), KUBECONFIG: kubernetes.info.adminKubeconfigPath };
  return runCommand(kubectlPath, args, { env, stdin, timeoutMs: 60_000 });
}

const dryRun = (manifests: string): Promise<CommandOutput> => {
  const how = ['--server-side', '--dry-run=server', '--validate=strict'];
  return kubectl(['apply', `--namespace=${NAMESPACE}`, ...how, '-f', '-'], manifests);
};

const podsOf = (resources: readonly Resource[]): PodSpec[] =>
  resources.flatMap(({ spec }) => spec?.template?.spec ?? []);

const containersOf = (pod: PodSpec) => [...pod.containers, ...(pod.initContainers ?? [])];

const settingsOf = (resources: readonly Resource[]): Readonly<Record<string, string>> =>
  resources.find(({ metadata }) => metadata.name === 'fairlead-settings')?.data ?? {};

/** Names of the Secrets that a pod mounts. */
const secretsOf = ({ volumes = [] }: PodSpec): string[] =>
  volumes.flatMap(({ secret, projected }) => [
    ...(secret ? [secret.secretName] : []),
    ...(projected?.sources.flatMap((source) => source.secret?.name ?? []) ?? []),
  ]);

describe.each(PROFILES)('the profile %s', (profile) => {
  it('has no fault that helm lint knows', async () => {
    expect(await lintChart(profile)).toMatchObject({ code: 0 });
  });

  it('is rendered, and a real API server takes all of it without a warning', async () => {
    const rendered = await renderChart(profile);
    expect(rendered).toMatchObject({ code: 0, stderr: '' });
    expect(await dryRun(rendered.stdout)).toMatchObject({ code: 0, stderr: '' });
  });

  it('contains no Secret', async () => {
    const kinds = (await resourcesOf(profile)).map(({ kind }) => kind);
    expect(kinds).not.toContain('Secret');
    expect(kinds).toContain('StatefulSet');
  });

  it('gives every process the CA that its settings name', async () => {
    const resources = await resourcesOf(profile);
    const settings = settingsOf(resources);
    expect(settings['FAIRLEAD_NATS_URL']).toMatch(/^tls:/);
    expect([settings['FAIRLEAD_NATS_CA_FILE'], settings['FAIRLEAD_DATABASE_CA_FILE']]).toEqual([CA_FILE, CA_FILE]);
    const pods = podsOf(resources).filter(({ containers }) => containers[0].name === 'main');
    expect(pods).toHaveLength(SINGLETONS.length + (profile === 'production' ? 3 : 1));
    for (const pod of pods) {
      for (const { volumeMounts } of containersOf(pod)) {
        const paths = volumeMounts?.map(({ mountPath }) => mountPath) ?? [];
        expect(paths).toContain(dirname(CA_FILE));
        // Kubernetes refuses two at one path.
        expect(new Set(paths).size).toBe(paths.length);
      }
      expect(pod.volumes).toContainEqual({
        name: 'infrastructure-ca',
        configMap: { name: 'fairlead-infrastructure-ca' },
      });
    }
  });

  it('gives each gateway one Secret, with its own NATS seed and no other', async () => {
    const resources = await resourcesOf(profile);
    const gateways = resources.filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/name'] === 'gateway');
    expect(gateways).toHaveLength(profile === 'production' ? 3 : 1);
    // What a template mounts, each of its pods has: two pods with one Secret have each other's seed.
    const mounted = gateways.flatMap(({ spec }) =>
      Array.from({ length: spec!.replicas! }, () => secretsOf(spec!.template!.spec)),
    );
    expect(mounted).toEqual(gateways.map(({ metadata }) => [metadata.name]));
    for (const { kind, metadata, spec } of gateways) {
      expect([kind, spec]).toMatchObject(['StatefulSet', { replicas: 1, updateStrategy: { type: 'OnDelete' } }]);
      // The name of its NATS credential is that of its Secret.
      expect(spec!.template!.spec.containers[0].env).toContainEqual({
        name: 'FAIRLEAD_CREDENTIAL',
        value: metadata.name,
      });
    }
    const others = podsOf(resources).filter((pod) => pod.serviceAccountName !== 'fairlead-gateway');
    expect(others.flatMap(secretsOf).filter((name) => name.startsWith('fairlead-gateway'))).toEqual([]);
  });

  it('has no pod with a privilege, a root to write to or a token but the one that makes Secrets', async () => {
    const pods = podsOf(await resourcesOf(profile));
    expect(pods.length).toBeGreaterThan(0);
    for (const pod of pods) {
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      expect([pod.serviceAccountName, pod.automountServiceAccountToken]).toEqual([
        expect.stringMatching(/^fairlead-/),
        pod.serviceAccountName === 'fairlead-setup',
      ]);
      for (const { securityContext } of containersOf(pod))
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
    }
  });

  it('names every image by the digest that was given', async () => {
    const resources = await resourcesOf(profile);
    const { FAIRLEAD_AGENT_IMAGE: agent, FAIRLEAD_INSTALLER_IMAGE: installer } = settingsOf(resources);
    const images = podsOf(resources).flatMap((pod) => containersOf(pod).map(({ image }) => image));
    expect(new Set([...images, agent, installer])).toEqual(new Set(IMAGES[profile].map(imageOf)));
  });

  it.each(IMAGES[profile])('is not rendered without the digest of %s', async (name) => {
    for (const image of ['', 'registry.example.test/fairlead/x:1', `localhost/fairlead/${name}:1`]) {
      const { code, stdout, stderr } = await renderChart(profile, { images: { [name]: image } });
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain(`images.${name} is "${image}", which has no digest`);
      expect(stderr.includes('--set bundled.localImages=true')).toBe(profile === 'single');
    }
  });

  it("lets no gateway have a certificate for the admin API's name", async () => {
    const settings = settingsOf(await resourcesOf(profile));
    const [api, gateways] = ['API', 'GATEWAY'].map((who) => settings[`FAIRLEAD_${who}_SERVING_NAMES`]?.split(','));
    expect(api).toEqual([new URL(settings['FAIRLEAD_PUBLIC_URL'] ?? '').hostname]);
    expect(gateways).not.toContain(api?.[0]);
    const doors = ['FAIRLEAD_DOORS', 'FAIRLEAD_CONNECT_DOORS'].map((name) => new URL(settings[name]!.split('=')[1]!));
    for (const { hostname } of doors) expect(gateways).toContain(hostname);
    const same = await renderChart(profile, { names: { api: GIVEN.names.gateways } });
    expect(same).toMatchObject({ code: 1, stderr: expect.stringContaining('give the admin API a name of its own') });
  });

  it('exports no spans unless it is told where to, and is let out then', async () => {
    const collector = 'http://otel-collector.observability.svc:4318';
    const [off, on] = [
      await resourcesOf(profile),
      await resourcesOf(profile, { settings: { OTEL_EXPORTER_OTLP_ENDPOINT: collector } }),
    ];
    const policy = (resources: readonly Resource[]): boolean =>
      resources.some(({ metadata }) => metadata.name === 'gateway-to-collector');
    expect([settingsOf(off)['OTEL_EXPORTER_OTLP_ENDPOINT'], policy(off)]).toEqual(['', false]);
    expect([settingsOf(on)['OTEL_EXPORTER_OTLP_ENDPOINT'], policy(on)]).toEqual([collector, true]);
  });
});

it.each([
  ['a value that there is not', { replicas: 3 }, 'replicas is not allowed'],
  ['policies that let out to everybody', { nats: { peers: [] } }, 'nats.peers'],
  ['policies without anybody named', { postgres: { peers: null } }, 'postgres: peers is required'],
  ['plain text to NATS', { nats: { url: 'nats://nats:4222' } }, 'nats.url'],
  [
    'a setting that switches a protection off',
    { settings: { FAIRLEAD_INSECURE_PLAINTEXT: 'true' } },
    'settings.FAIRLEAD_INSECURE_PLAINTEXT switches a protection off',
  ],
  [
    'the same for one process',
    { keys: { extraEnv: [{ name: 'FAIRLEAD_INSECURE_PLAINTEXT', value: 'true' }] } },
    'keys.extraEnv: FAIRLEAD_INSECURE_PLAINTEXT switches a protection off',
  ],
  [
    'the master key as a setting',
    { settings: { FAIRLEAD_MASTER_KEY: 'x' } },
    'settings.FAIRLEAD_MASTER_KEY holds a secret',
  ],
  [
    'the same written out for one process',
    { keys: { extraEnv: [{ name: 'FAIRLEAD_MASTER_KEY', value: 'x' }] } },
    'keys.extraEnv: FAIRLEAD_MASTER_KEY holds a secret',
  ],
  [
    'TLS that verifies nobody, for one process',
    { access: { extraEnv: [{ name: 'NODE_TLS_REJECT_UNAUTHORIZED', value: '0' }] } },
    'access.extraEnv: NODE_TLS_REJECT_UNAUTHORIZED has a process',
  ],
  [
    'a bearer token written out for one process',
    { api: { extraEnv: [{ name: 'OTEL_EXPORTER_OTLP_HEADERS', value: 'authorization=Bearer x' }] } },
    'api.extraEnv: OTEL_EXPORTER_OTLP_HEADERS holds a secret',
  ],
  [
    "a collector's password for all processes",
    { settings: { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://me:secret@collector:4318' } },
    'settings.OTEL_EXPORTER_OTLP_ENDPOINT',
  ],
  [
    'names that gateways are certified for, past the values that are checked',
    { settings: { FAIRLEAD_GATEWAY_SERVING_NAMES: 'api.example.test' } },
    'settings.FAIRLEAD_GATEWAY_SERVING_NAMES: the chart makes it of other values',
  ],
  [
    'the same for one process',
    { registration: { extraEnv: [{ name: 'FAIRLEAD_INSTALLER_IMAGE', value: 'x:latest' }] } },
    'registration.extraEnv: the chart makes FAIRLEAD_INSTALLER_IMAGE of other values',
  ],
  [
    'a gateway that keeps nothing on record',
    { gateway: { extraEnv: [{ name: 'FAIRLEAD_AUDIT_SPOOL_DIR', value: '' }] } },
    'gateway.extraEnv: the chart makes FAIRLEAD_AUDIT_SPOOL_DIR of other values',
  ],
  [
    'a service that says it is another',
    { gitops: { extraEnv: [{ name: 'FAIRLEAD_CREDENTIAL', value: 'access' }] } },
    'gitops.extraEnv: the chart makes FAIRLEAD_CREDENTIAL of other values',
  ],
  [
    'a debugger that everybody may come to',
    { api: { extraEnv: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=512 --inspect=0.0.0.0' }] } },
    'api.extraEnv.0.value',
  ],
  [
    'code that is loaded before ours',
    { api: { extraEnv: [{ name: 'LD_PRELOAD', value: '/tmp/x.so' }] } },
    'api.extraEnv: LD_PRELOAD has a process run other code',
  ],
  [
    'the master key in a gateway',
    { gateway: { extraVolumes: [{ name: 'x', secret: { secretName: 'fairlead-keys' } }] } },
    'gateway: the Secret fairlead-keys is of one process alone',
  ],
  [
    'the same in parts',
    { audit: { extraVolumes: [{ name: 'x', projected: { sources: [{ secret: { name: 'fairlead-gateway-b' } }] } }] } },
    'audit: the Secret fairlead-gateway-b is of one process alone',
  ],
  [
    "the administrator's token as a certificate",
    { api: { certificateSecret: 'fairlead-access' } },
    'api: the Secret fairlead-access is of one process alone',
  ],
  [
    'the master key in a gateway by a setting',
    {
      gateway: {
        extraEnv: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'fairlead-keys', key: 'master.key' } } }],
      },
    },
    'gateway: the Secret fairlead-keys is of one process alone',
  ],
  [
    "the admin API's certificate in a gateway",
    {
      api: { certificateSecret: 'api-tls' },
      gateway: { extraVolumes: [{ name: 'x', secret: { secretName: 'api-tls' } }] },
    },
    'gateway: the Secret api-tls is of one process alone',
  ],
  [
    'the databases in a gateway',
    { gateway: { extraVolumes: [{ name: 'x', persistentVolumeClaim: { claimName: 'data-fairlead-postgres-0' } }] } },
    'gateway.extraVolumes.0',
  ],
  [
    'a copy of the databases',
    {
      gateway: {
        audit: { volume: { dataSource: { kind: 'PersistentVolumeClaim', name: 'data-fairlead-postgres-0' } } },
      },
    },
    'gateway.audit.volume',
  ],
  [
    'other code in the place of ours',
    { api: { extraVolumeMounts: [{ name: 'x', mountPath: '/app/apps/api/dist/bundle/main.js' }] } },
    'api.extraVolumeMounts.0.mountPath',
  ],
  [
    'other files in the place of ours',
    { api: { extraVolumeMounts: [{ name: 'x', mountPath: '/run/fairlead/' }] } },
    'api.extraVolumeMounts.0.mountPath',
  ],
  [
    'code that the linker loads before ours',
    { api: { extraVolumeMounts: [{ name: 'x', mountPath: '/etc' }] } },
    'api.extraVolumeMounts.0.mountPath',
  ],
  [
    'what OpenSSL is told',
    { keys: { extraVolumeMounts: [{ name: 'x', mountPath: '/etc/ssl/openssl.cnf' }] } },
    'keys.extraVolumeMounts.0.mountPath',
  ],
  [
    'compiled code in the place of ours',
    { api: { extraEnv: [{ name: 'NODE_COMPILE_CACHE', value: '/tmp' }] } },
    'api.extraEnv: NODE_COMPILE_CACHE has a process run other code',
  ],
  [
    'packages that ours look for',
    { keys: { extraVolumeMounts: [{ name: 'x', mountPath: '/node_modules/cpu-features' }] } },
    'keys.extraVolumeMounts.0.mountPath',
  ],
  [
    'the same by a home',
    { keys: { extraEnv: [{ name: 'HOME', value: '/opt/x' }] } },
    'keys.extraEnv: the chart makes HOME of other values',
  ],
  [
    'the same by who has it',
    { keys: { extraVolumeMounts: [{ name: 'x', mountPath: '/etc/passwd', subPath: 'passwd' }] } },
    'keys.extraVolumeMounts.0.mountPath',
  ],
  [
    'a certificate past what is compared',
    { gateway: { extraEnv: [{ name: 'FAIRLEAD_DOOR_TLS_KEY_FILE', value: '/opt/t/tls.key' }] } },
    'gateway.extraEnv: FAIRLEAD_DOOR_TLS_KEY_FILE: name the certificate in certificateSecret',
  ],
  [
    'the seed of a gateway that is listed no more',
    { audit: { extraVolumes: [{ name: 'x', secret: { secretName: 'fairlead-gateway-z' } }] } },
    'audit: the Secret fairlead-gateway-z is of one process alone',
  ],
  [
    'the certificate that cert-manager had made',
    { gateway: { extraVolumes: [{ name: 'x', secret: { secretName: 'fairlead-api-tls' } }] } },
    'gateway: the Secret fairlead-api-tls is of one process alone',
  ],
  [
    'a volume of the name of one of ours',
    { keys: { extraVolumes: [{ name: 'secrets', secret: { secretName: 'mine' } }] } },
    'keys.extraVolumes.0.name',
  ],
  [
    'pods that go on with other settings than there are',
    { api: { annotations: { 'fairlead.dev/settings': 'pinned' } } },
    "api.annotations: fairlead.dev/settings is the chart's own annotation",
  ],
  [
    'the same for all',
    { annotations: { 'fairlead.dev/settings': 'pinned' } },
    "annotations: fairlead.dev/settings is the chart's own annotation",
  ],
  [
    'another program',
    { api: { extraEnv: [{ name: 'PATH', value: '/tmp' }] } },
    'api.extraEnv: PATH has a process run other code',
  ],
  [
    'a setting whose name is wrong',
    { settings: { FAIRLEAD_LOG_LEVL: 'debug' } },
    'settings.FAIRLEAD_LOG_LEVL: nothing reads that',
  ],
  [
    'a setting of another process',
    { api: { extraEnv: [{ name: 'FAIRLEAD_DOOR_GRACE_SECONDS', value: '5' }] } },
    'api.extraEnv: FAIRLEAD_DOOR_GRACE_SECONDS: nothing reads that there',
  ],
  [
    "a collector's password for one process",
    { api: { extraEnv: [{ name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', value: 'HTTPS://me:secret@collector' }] } },
    'api.extraEnv.0.value',
  ],
  [
    'the end of a line that not every reader sees',
    { settings: { FAIRLEAD_LOG_LEVEL: 'a\nb\u2028FAIRLEAD_AGENT_IMAGE: x' } },
    'a value has a U+0085, U+2028 or U+2029',
  ],
  [
    "agents that ask for the admin API's name",
    { settings: { FAIRLEAD_AGENT_SERVER_NAME: 'fairlead.example.test' }, names: { api: 'fairlead.example.test' } },
    'names.api and another name, of gateways, are both',
  ],
  ['what is on the node', { keys: { extraVolumes: [{ name: 'x', hostPath: { path: '/' } }] } }, 'keys.extraVolumes.0'],
  [
    'more fields where a time belongs',
    { externalSecrets: { refreshInterval: '1h\n  dataFrom: [{extract: {key: x}}]' } },
    'externalSecrets.refreshInterval',
  ],
  [
    'the same for a class of volumes',
    { bundled: { storage: { storageClassName: 'x\n    volumeName: y' } } },
    'bundled.storage.storageClassName',
  ],
  [
    'a view of users and targets at a port that everybody comes to',
    { gateway: { extraEnv: [{ name: 'FAIRLEAD_DEBUG_VIEW', value: 'true' }] } },
    'networkPolicies.health.peers lets everybody come',
  ],
  [
    'one certificate for doors and admin API',
    { gateway: { certificateSecret: 'wildcard' }, api: { certificateSecret: 'wildcard' } },
    'are both wildcard',
  ],
  ['a view of users and targets for whoever asks', { settings: { FAIRLEAD_DEBUG_VIEW: 'true' } }, 'settings'],
  ['a bearer token for all processes', { settings: { OTEL_EXPORTER_OTLP_HEADERS: 'a=b' } }, 'settings'],
  [
    "the admin API's name below the domain of clusters",
    { names: { api: 'api.c.example.test', clusterDomain: 'c.example.test' } },
    'names.api is api.c.example.test, below c.example.test',
  ],
  ['no gateway', { gateways: [] }, 'gateways'],
  [
    'a pod that has no time for what runs',
    { gateway: { doorGraceSeconds: 60, terminationGracePeriodSeconds: 60 } },
    'gateway.terminationGracePeriodSeconds is 60, and gateway.doorGraceSeconds 60',
  ],
  ['two gateways of one name', { gateways: [{ name: 'a' }, { name: 'a' }] }, 'one NATS identity'],
  ['labels that selectors are made of', { labels: { 'app.kubernetes.io/name': 'api' } }, 'labels'],
  ['a port beyond all ports', { publicPorts: { door: 70_000 } }, 'publicPorts.door'],
  ['egress to everybody', { keys: { extraEgress: [{ ports: [{ port: 8200 }] }] } }, 'to is required'],
  [
    'the same by a list of nobody',
    { keys: { extraEgress: [{ to: [], ports: [{ port: 8200 }] }] } },
    'extraEgress.0.to',
  ],
])('refuses %s', async (_what, values, said) => {
  const { code, stderr } = await renderChart('production', values);
  expect([code, stderr]).toEqual([1, expect.stringContaining(said)]);
});

it('gives gateways the rules of what is put on record, in a file whose change restarts none of them', async () => {
  const rules = [
    { name: 'leases', level: 'None', resources: [{ group: 'coordination.k8s.io', resources: ['leases'] }] },
  ];
  const [all, some] = [await resourcesOf('single'), await resourcesOf('single', { gateway: { audit: { rules } } })];
  const fileIn = (resources: readonly Resource[]): unknown =>
    parse(resources.find(({ metadata }) => metadata.name === 'fairlead-audit-rules')?.data?.['rules.yaml'] ?? '');
  expect(fileIn(all)).toEqual({ apiVersion: 'audit.fairlead.dev/v1', kind: 'Policy', rules: [] });
  expect(fileIn(some)).toEqual({ apiVersion: 'audit.fairlead.dev/v1', kind: 'Policy', rules });
  const gatewaysIn = (resources: readonly Resource[]): readonly Resource[] =>
    resources.filter(({ kind }) => kind === 'StatefulSet').filter(({ metadata }) => /gateway/.test(metadata.name));
  expect(gatewaysIn(some)).toEqual(gatewaysIn(all));
  const [main] = gatewaysIn(all)[0]?.spec?.template?.spec.containers ?? [];
  expect(main?.env).toContainEqual({ name: 'FAIRLEAD_AUDIT_RULES_FILE', value: '/etc/fairlead-audit/rules.yaml' });
  expect(main?.volumeMounts?.map(({ mountPath }) => mountPath)).toContain('/etc/fairlead-audit');
});
