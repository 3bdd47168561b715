import { appendFile, cp, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { ROLES, SINGLETONS } from '@fairlead/contracts';
import { findBinary, startKubernetes, type KubeInfo, type Running } from '@fairlead/testbed';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { baseEnvironment } from './process/base-environment.js';
import { runCommand, type CommandOutput } from './process/run-command.js';
import { REPOSITORY } from './state/repository.js';

const OVERLAYS = ['single-node', 'production'];
const CA_FILE = '/etc/fairlead/infrastructure-ca.crt';

interface Container {
  readonly name: string;
  readonly image: string;
  readonly volumeMounts: readonly { readonly mountPath: string }[];
}

interface Volume {
  readonly name: string;
  readonly secret?: object;
  readonly projected?: { readonly sources: readonly { readonly secret: { readonly name: string } }[] };
}

interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers: readonly Container[];
  readonly volumes: readonly Volume[];
}

interface PodTemplate {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: PodSpec;
}

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: { readonly replicas?: number; readonly template?: PodTemplate };
}

let scratch: ScratchDir;
let kubernetes: Running<KubeInfo>;
let kubectlPath: string;

function kubectl(args: readonly string[], stdin = ''): Promise<CommandOutput> {
  const env = { ...baseEnvironment(), KUBECONFIG: kubernetes.info.adminKubeconfigPath };
  return runCommand(kubectlPath, args, { env, stdin, timeoutMs: 60_000 });
}

const DIGEST = `sha256:${'0f'.repeat(32)}`;
const IMAGES = [...ROLES.map((role) => `fairlead/${role}`), 'busybox'];
const SETTINGS = ['FAIRLEAD_AGENT_IMAGE', 'FAIRLEAD_INSTALLER_IMAGE'];

const folderOf = (overlay: string): string => scratch.file('k8s', 'overlays', overlay);

const build = (overlay: string): Promise<CommandOutput> => kubectl(['kustomize', folderOf(overlay)]);

/** A copy of all of `k8s/`, with the images that whoever runs it has to bring, but for `missing`. */
async function copyWithImages(folder: string, missing?: string): Promise<void> {
  await cp(join(REPOSITORY, 'k8s'), folder, { recursive: true });
  for (const overlay of OVERLAYS) {
    const images = IMAGES.filter((name) => name !== missing).map((name) => ({
      name: `registry.invalid/${name}`,
      newName: `registry.example.test/${name}`,
      digest: DIGEST,
    }));
    const settings = SETTINGS.filter((name) => name !== missing).map(
      (name) => `${name}=registry.example.test/x@${DIGEST}`,
    );
    await appendFile(join(folder, 'overlays', overlay, 'kustomization.yaml'), stringify({ images }));
    await appendFile(join(folder, 'overlays', overlay, 'settings.env'), settings.join('\n'));
  }
}

beforeAll(async () => {
  scratch = await scratchDir();
  await copyWithImages(scratch.file('k8s'));
  kubernetes = await startKubernetes({ dataDir: scratch.file('kubernetes') });
  kubectlPath = (await findBinary('kubectl')).path;
});
afterAll(async () => {
  await kubernetes.stop();
  await scratch[Symbol.asyncDispose]();
});

const applied = (manifests: string): Promise<CommandOutput> =>
  kubectl(['apply', '--server-side', '--force-conflicts', '--validate=strict', '-f', '-'], manifests);

const resourcesIn = (manifests: string): Resource[] =>
  parseAllDocuments(manifests).map((document) => document.toJS() as Resource);

describe.each(OVERLAYS)('k8s/overlays/%s', (overlay) => {
  it('builds, and a real API server takes all of it without a warning', async () => {
    const built = await build(overlay);
    expect(built).toMatchObject({ code: 0, stderr: '' });
    expect(await applied(built.stdout)).toMatchObject({ code: 0, stderr: '' });
  });

  it('contains no Secret', async () => {
    const { stdout } = await build(overlay);
    const resources = resourcesIn(stdout);
    expect(resources.map(({ kind }) => kind)).not.toContain('Secret');
    expect(resources.map(({ kind }) => kind)).toContain('StatefulSet');
  });

  it('gives every container of ours the CA that its settings name', async () => {
    const { stdout } = await build(overlay);
    const settings = settingsIn(stdout);
    expect(settings['FAIRLEAD_NATS_URL']).toMatch(/^tls:/);
    expect([settings['FAIRLEAD_NATS_CA_FILE'], settings['FAIRLEAD_DATABASE_CA_FILE']]).toEqual([CA_FILE, CA_FILE]);
    const pods = resourcesIn(stdout).flatMap(({ spec }) => spec?.template?.spec ?? []);
    expect(pods).toHaveLength(SINGLETONS.length + (overlay === 'production' ? 3 : 1));
    for (const { containers, initContainers, volumes } of pods) {
      const ours = [...containers, ...initContainers].filter(({ name }) => name !== 'own-secrets');
      for (const { volumeMounts } of ours) {
        expect(volumeMounts.map(({ mountPath }) => mountPath)).toContain(dirname(CA_FILE));
      }
      expect(volumes).toContainEqual({ name: 'infrastructure-ca', configMap: { name: 'fairlead-infrastructure-ca' } });
    }
  });

  it('gives each gateway one Secret, with its own NATS seed and no other', async () => {
    const all = resourcesIn((await build(overlay)).stdout).filter(({ kind }) => kind === 'StatefulSet');
    // What a template mounts, each of its pods has: two pods with one Secret have each other's seed.
    const ofPods = all.flatMap(({ spec }) => Array.from({ length: spec!.replicas! }, () => secretsOf(spec!.template!)));
    expect(ofPods).toEqual(all.map(({ metadata }) => [metadata.name]));
    expect(all).toHaveLength(overlay === 'production' ? 3 : 1);
    for (const { metadata, spec } of all) {
      expect(spec!.template!.spec.volumes.filter(({ secret }) => secret)).toEqual([]);
      // Its pod's NATS credential has the name of the Secret.
      expect(spec).toMatchObject({ replicas: 1, updateStrategy: { type: 'OnDelete' } });
      expect(spec!.template!.metadata.labels['app.kubernetes.io/instance']).toBe(metadata.name);
    }
  });

  it('is not rendered unless every image is named by its digest', async () => {
    const pods = resourcesIn((await build(overlay)).stdout).flatMap(({ spec }) => spec?.template?.spec ?? []);
    const images = pods.flatMap((pod) => [...pod.containers, ...pod.initContainers].map(({ image }) => image));
    for (const image of images) expect(image).toMatch(new RegExp(`@${DIGEST}$`));
    expect(new Set(images).size).toBe(IMAGES.length);
    const asShipped = await kubectl(['kustomize', join(REPOSITORY, 'k8s', 'overlays', overlay)]);
    expect(asShipped).toMatchObject({ code: 1, stdout: '' });
  });

  it("lets no gateway have a certificate for the admin API's name", async () => {
    const settings = settingsIn((await build(overlay)).stdout);
    const [api, gateways] = ['API', 'GATEWAY'].map((who) => settings[`FAIRLEAD_${who}_SERVING_NAMES`]?.split(','));
    expect(api).toEqual([new URL(settings['FAIRLEAD_PUBLIC_URL'] ?? '').hostname]);
    expect(gateways).not.toContain(api?.[0]);
    const doors = settings['FAIRLEAD_DOORS']?.split(',').map((door) => new URL(door.slice(door.indexOf('=') + 1)));
    for (const { hostname } of doors ?? []) expect(gateways).toContain(hostname);
    expect(doors).not.toHaveLength(0);
  });

  it('exports no spans unless it is told where to', async () => {
    expect(settingsIn((await build(overlay)).stdout)).toMatchObject({
      OTEL_EXPORTER_OTLP_ENDPOINT: '',
      FAIRLEAD_AGENT_TRACING_ENDPOINT: '',
    });
  });
});

// Both overlays have the same check.
it.each([...IMAGES, ...SETTINGS])('no overlay is rendered with all images by digest but %s', async (missing) => {
  const folder = scratch.file(`without-${missing.replace('/', '-')}`);
  await copyWithImages(folder, missing);
  const { code, stderr } = await kubectl(['kustomize', join(folder, 'overlays', 'single-node')]);
  expect(code).toBe(1);
  expect(stderr).toContain('out of bounds for value registry.invalid/');
});

describe('k8s/components/tracing', () => {
  it('lets the gateways of an overlay out to the collector that its settings name', async () => {
    const folder = scratch.file('traced');
    await mkdir(folder);
    const within = (...path: string[]): string => relative(folder, scratch.file('k8s', ...path));
    const literals = ['OTEL_EXPORTER_OTLP_ENDPOINT=http://otel-collector.observability.svc:4318'];
    const overlay = {
      apiVersion: 'kustomize.config.k8s.io/v1beta1',
      kind: 'Kustomization',
      namespace: 'fairlead',
      resources: [within('overlays', 'production')],
      components: [within('components', 'tracing')],
      configMapGenerator: [{ name: 'fairlead-settings', behavior: 'merge', literals }],
    };
    await writeFile(join(folder, 'kustomization.yaml'), stringify(overlay));
    const built = await kubectl(['kustomize', folder]);
    expect(built).toMatchObject({ code: 0, stderr: '' });
    expect(await applied(built.stdout)).toMatchObject({ code: 0, stderr: '' });
    expect(Object.entries(settingsIn(built.stdout)).map((each) => each.join('='))).toContain(literals[0]);
    const policy = resourcesIn(built.stdout).find(({ metadata }) => metadata.name === 'gateway-to-collector');
    expect(policy).toMatchObject({ kind: 'NetworkPolicy', metadata: { namespace: 'fairlead' } });
  });
});

function secretsOf({ spec }: PodTemplate): string[] {
  return spec.volumes.flatMap(({ projected }) => projected?.sources.map(({ secret }) => secret.name) ?? []);
}

function settingsIn(manifests: string): Readonly<Record<string, string>> {
  const settings = resourcesIn(manifests).find(({ metadata }) => metadata.name.startsWith('fairlead-settings-'));
  return settings?.data ?? {};
}
