import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROLES } from '@fairlead/contracts';
import { findBinary } from '@fairlead/testbed';
import { parseAllDocuments } from 'yaml';
import { baseEnvironment } from '../process/base-environment.js';
import { runCommand, type CommandOutput } from '../process/run-command.js';
import { REPOSITORY } from '../state/repository.js';

export const CHART = join(REPOSITORY, 'charts', 'fairlead');
export const PROFILES = ['single', 'production'] as const;
export type Profile = (typeof PROFILES)[number];
export const NAMESPACE = 'fairlead';

/** What a Helm that was built from its module takes a cluster for that it was not told of is too old for the chart. */
const KUBERNETES = '--kube-version=1.34.0';
const DIGEST = `sha256:${'0f'.repeat(32)}`;
const OF_ALL = [...ROLES, 'agent', 'installer'];
/** By profile, what has to be named by its digest. */
export const IMAGES: Readonly<Record<Profile, readonly string[]>> = {
  production: OF_ALL,
  single: [...OF_ALL, 'setup', 'nats', 'postgres'],
};

export const imageOf = (name: string): string => `registry.example.test/fairlead/${name}@${DIGEST}`;

/** What whoever installs it has to say. */
export const GIVEN = {
  names: { api: 'fairlead.example.test', gateways: 'gateway.example.test' },
  images: Object.fromEntries(IMAGES.single.map((name) => [name, imageOf(name)])),
};

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly imagePullPolicy?: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext?: object;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

interface Volume {
  readonly name: string;
  readonly secret?: { readonly secretName: string };
  readonly projected?: { readonly sources: readonly { readonly secret?: { readonly name: string } }[] };
}

export interface PodSpec {
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly containers: readonly [Container, ...Container[]];
  readonly initContainers?: readonly Container[];
  readonly securityContext?: object;
  readonly volumes?: readonly Volume[];
}

export interface Resource {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly data?: Readonly<Record<string, string>>;
  readonly rules?: readonly object[];
  readonly spec?: Readonly<Record<string, unknown>> & {
    readonly replicas?: number;
    readonly template?: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: PodSpec;
    };
  };
}

/** `helm template` of a profile with what has to be given, and `values` over it. Hooks are among what is rendered. */
export async function renderChart(
  profile: Profile,
  values: object = {},
  chart: string = CHART,
): Promise<CommandOutput> {
  return withValues([GIVEN, values], (files) => {
    const given = [join(CHART, 'profiles', `${profile}.yaml`), ...files].flatMap((file) => ['--values', file]);
    return helm(['template', 'fairlead', chart, `--namespace=${NAMESPACE}`, KUBERNETES, ...given]);
  });
}

/** As a resource: Helm shows NOTES.txt only where it installs something. */
const NOTES = '{kind: Notes, metadata: {name: notes}, data: {text: {{ tpl (.Files.Get "notes.txt") . | toJson }}}}';

/** What whoever installs a profile with these values is told. Throws what Helm says if it refuses. */
export async function notesOf(profile: Profile, values: object = {}): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-chart-'));
  try {
    await cp(CHART, dir, { recursive: true });
    await cp(join(CHART, 'templates', 'NOTES.txt'), join(dir, 'notes.txt'));
    await writeFile(join(dir, 'templates', 'notes.yaml'), NOTES);
    const { code, stdout, stderr } = await renderChart(profile, values, dir);
    if (code !== 0) throw new Error(stderr);
    return resourceOf(resourcesIn(stdout), 'Notes', 'notes')?.data?.['text'] ?? '';
  } finally {
    await rm(dir, { recursive: true });
  }
}

/** The same, parsed. Throws what Helm says if it refuses. */
export async function resourcesOf(profile: Profile, values: object = {}): Promise<Resource[]> {
  const { code, stdout, stderr } = await renderChart(profile, values);
  if (code !== 0) throw new Error(stderr);
  return resourcesIn(stdout);
}

export function resourcesIn(manifests: string): Resource[] {
  return parseAllDocuments(manifests).flatMap((document) => (document.toJS() as Resource | null) ?? []);
}

export function resourceOf(resources: readonly Resource[], kind: string, name: string): Resource | undefined {
  return resources.find((each) => each.kind === kind && each.metadata.name === name);
}

/** A container's environment; undefined for a value that is taken from elsewhere. */
export function environmentOf({ env = [] }: Container): Record<string, string | undefined> {
  return Object.fromEntries(env.map(({ name, value }) => [name, value]));
}

export async function lintChart(profile: Profile): Promise<CommandOutput> {
  return withValues([GIVEN], ([given = '']) => {
    const files = [`--values=${join(CHART, 'profiles', `${profile}.yaml`)}`, `--values=${given}`];
    return helm(['lint', CHART, '--strict', KUBERNETES, ...files]);
  });
}

async function helm(args: readonly string[]): Promise<CommandOutput> {
  const { path } = await findBinary('helm');
  return runCommand(path, args, { env: baseEnvironment(), timeoutMs: 60_000 });
}

async function withValues(
  values: readonly object[],
  use: (files: readonly string[]) => Promise<CommandOutput>,
): Promise<CommandOutput> {
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-values-'));
  try {
    const files = values.map((_, index) => join(dir, `${index}.json`));
    for (const [index, file] of files.entries()) await writeFile(file, JSON.stringify(values[index]));
    return await use(files);
  } finally {
    await rm(dir, { recursive: true });
  }
}
