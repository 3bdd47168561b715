// What repeats the table of services because it cannot be made from it: the pods, the network policies, the images.
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { COMMON_SETTINGS, POD_HEALTH_PORT, ROLES, SERVICE_NAMES, rowOf, type Role } from '@fairlead/contracts';
import { scratchDir } from '@fairlead/testing';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { prepareCredentials } from '../prepare-credentials.js';
import { REPOSITORY } from '../state/repository.js';

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly fieldRef: { readonly fieldPath: string } };
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env: readonly Variable[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
}

interface Workload {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly template: {
      readonly spec: { readonly serviceAccountName: string; readonly initContainers?: readonly Container[] } & {
        readonly containers: readonly [Container];
      };
    };
  };
}

interface Policy {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly podSelector: { readonly matchExpressions?: readonly { readonly values: readonly string[] }[] };
  };
}

const read = (...path: string[]): string => readFileSync(join(REPOSITORY, ...path), 'utf8');

function workloadOf(role: Role): Workload {
  // A gateway's pods come once for each replica, from one file.
  const folder = role === 'gateway' ? 'k8s/gateways/replica' : `k8s/base/${role}`;
  const file = ['deployment.yaml', 'stateful-set.yaml'].find((name) => existsSync(join(REPOSITORY, folder, name)));
  if (file === undefined) throw new Error(`${folder} has neither deployment.yaml nor stateful-set.yaml`);
  return parse(read(folder, file)) as Workload;
}

const valuesOf = ({ env }: Container): Record<string, string | undefined> =>
  Object.fromEntries(env.map(({ name, value }) => [name, value]));

/** What the image of a role runs. */
const entryIn = (role: Role): string | undefined =>
  new RegExp(`^COPY --from=build /out/${role} /app\nCMD \\["([^"]+)"\\]$`, 'm').exec(read('Dockerfile'))?.[1];

/** The last part of the repository, whatever the registry, the tag and the digest. */
const imageName = (image: string): string => basename(image).replace(/[:@].*$/, '');

/** What an app reads: its own schema, and the shared pieces in it. */
const settingsReadBy = (role: Role): string =>
  [read('apps', role, 'config.ts'), read('libs/service/settings.ts'), read('libs/config/tracing.ts')].join('\n');

const settingsOf = (role: Role): readonly string[] => [...COMMON_SETTINGS[rowOf(role).tier], ...rowOf(role).settings];

describe.each(ROLES)('%s', (role) => {
  const { listens, secrets, tier } = rowOf(role);
  const { metadata, spec } = workloadOf(role);
  const { containers, initContainers = [], serviceAccountName } = spec.template.spec;
  const [main] = containers;
  const migrate = initContainers.filter(({ name }) => name === 'migrate');

  it('has the name, the account and the image of its row in k8s/', () => {
    expect(metadata.name).toBe(`fairlead-${role}`);
    expect(metadata.labels).toMatchObject({ 'app.kubernetes.io/name': role });
    expect(serviceAccountName).toBe(`fairlead-${role}`);
    expect([main, ...migrate].map(({ image }) => imageName(image))).toEqual([main, ...migrate].map(() => role));
  });

  it('listens where its row says', () => {
    const ports = Object.fromEntries((main.ports ?? []).map(({ name, containerPort }) => [name, containerPort]));
    const wanted = Object.entries(listens).map(([name, { port }]) => [name, port] as const);
    expect(ports).toEqual({ health: POD_HEALTH_PORT, ...Object.fromEntries(wanted) });
    for (const { port, setting } of Object.values(listens)) expect(valuesOf(main)[setting]).toBe(`0.0.0.0:${port}`);
  });

  it('has its credential and its secrets as files', () => {
    const values = valuesOf(main);
    const credential = main.env.find(({ name }) => name === 'FAIRLEAD_CREDENTIAL');
    // A gateway's credential is named like its replica, which is a label of its pod.
    expect(credential?.valueFrom?.fieldRef.fieldPath ?? credential?.value).toBe(
      role === 'gateway' ? "metadata.labels['app.kubernetes.io/instance']" : role,
    );
    expect(values['FAIRLEAD_NATS_SEED_FILE']).toBe('/run/fairlead/nats.seed');
    for (const [file, setting] of Object.entries(secrets)) expect(values[setting]).toBe(`/run/fairlead/${file}`);
    const url = tier === 'service' ? '/run/fairlead/database.url' : undefined;
    expect(values['FAIRLEAD_DATABASE_URL_FILE']).toBe(url);
  });

  it('migrates its schema first, if it has one, with the settings it then runs with', () => {
    expect(migrate).toHaveLength(tier === 'service' ? 1 : 0);
    for (const { args, env } of migrate) {
      expect(args).toEqual([entryIn(role), 'migrate']);
      expect(env).toEqual(main.env);
    }
  });

  it('reads each setting that its row and its pod name', () => {
    const text = settingsReadBy(role);
    const given = main.env.map(({ name }) => name).filter((name) => name.startsWith('FAIRLEAD_'));
    const unread = [...settingsOf(role), ...given].filter((name) => !new RegExp(`\\b${name}\\b`).test(text));
    expect(unread).toEqual([]);
  });

  it('has an image', () => {
    const dockerfile = read('Dockerfile');
    expect(dockerfile).toMatch(new RegExp(`^FROM runtime AS ${role}$`, 'm'));
    expect(entryIn(role)).toContain(`apps/${role}/dist/`);
    expect(/for app in ([a-z ]+);/.exec(dockerfile)?.[1]?.split(' ')).toContain(role);
  });

  it('has its Secret in k8s/README.md', () => {
    const line = read('k8s', 'README.md')
      .split('\n')
      .find((each) => each.startsWith(`| \`fairlead-${role}`));
    const files = [...(role === 'gateway' ? [] : ['nats.seed']), ...(tier === 'service' ? ['database.url'] : [])];
    for (const file of [...files, ...Object.keys(secrets)]) expect(line).toContain(`\`${file}\``);
  });
});

it('the Dockerfile has an image for each process of the table, the agent and the installer, and no other', () => {
  const targets = [...read('Dockerfile').matchAll(/^FROM runtime AS (.+)$/gm)].map(([, name]) => String(name));
  expect(targets.toSorted()).toEqual([...ROLES, 'agent', 'installer'].toSorted());
});

describe('k8s/base', () => {
  it('has every process of the table, and no other', () => {
    const { resources } = parse(read('k8s', 'base', 'kustomization.yaml')) as { resources: readonly string[] };
    expect(resources.filter((each) => !each.endsWith('.yaml')).toSorted()).toEqual(ROLES.toSorted());
  });

  it('lets each process to NATS, and each service to Postgres', () => {
    const policies = parseAllDocuments(read('k8s', 'base', 'default-deny.yaml')).map((each) => each.toJS() as Policy);
    const selected = (name: string): readonly string[] | undefined =>
      policies.find(({ metadata }) => metadata.name === name)?.spec.podSelector.matchExpressions?.[0]?.values;
    expect(selected('to-nats')?.toSorted()).toEqual(ROLES.toSorted());
    expect(selected('to-postgres')?.toSorted()).toEqual(SERVICE_NAMES.toSorted());
  });

  it('sets what the rows name, and nothing else', () => {
    const set = [...read('k8s', 'base', 'settings.env').matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name);
    expect(new Set(set)).toEqual(new Set(ROLES.flatMap(settingsOf)));
  });
});

it('docker-compose.yml runs Postgres and NATS only, with files that --prepare makes from the table', async () => {
  const compose = parse(read('docker-compose.yml')) as {
    readonly services: Readonly<Record<string, unknown>>;
    readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  };
  expect(Object.keys(compose.services)).toEqual(['postgres', 'nats']);
  await using scratch = await scratchDir();
  await prepareCredentials(scratch.file('state'));
  const files = Object.values(compose.secrets).map(({ file }) => file);
  const made = (file: string): boolean => existsSync(scratch.file('state', file.replace(/^\.fairlead\//, '')));
  expect(files.filter((file) => !made(file))).toEqual([]);
});
