// What the chart makes of the table of services: the pods, what they listen on and read, the Secrets, the network policies.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  COMMON_SETTINGS,
  POD_HEALTH_PORT,
  ROLES,
  SERVICES,
  SERVICE_NAMES,
  rowOf,
  type Role,
} from '@fairlead/contracts';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { entryIn, imageName, settingsReadBy } from '../control-plane/image-entries.js';
import { CHART, environmentOf, resourceOf, resourcesOf, type Container, type Resource } from './render-chart.js';

interface Values {
  readonly images: Readonly<Record<string, string>>;
  readonly gateway: { readonly service: { readonly nodePorts: Readonly<Record<string, number | null>> } };
}

const valuesIn = (file: string): Values => parse(readFileSync(join(CHART, file), 'utf8')) as Values;
const valuesOfChart = (): Values => valuesIn('values.yaml');

let all: readonly Resource[];
beforeAll(async () => {
  all = await resourcesOf('production');
});

const named = (kind: string, name: string): Resource | undefined => resourceOf(all, kind, name);

const settingsOf = (role: Role): readonly string[] => [...COMMON_SETTINGS[rowOf(role).tier], ...rowOf(role).settings];

function workloadOf(role: Role): Resource {
  const [kind, name] = role === 'gateway' ? ['StatefulSet', 'fairlead-gateway-a'] : ['Deployment', `fairlead-${role}`];
  const found = named(kind, name);
  if (found === undefined) throw new Error(`the chart renders no ${kind} ${name}`);
  return found;
}

function containersOf(role: Role): { main: Container; migrate: readonly Container[] } {
  const { containers, initContainers = [] } = workloadOf(role).spec!.template!.spec;
  return { main: containers[0], migrate: initContainers.filter(({ name }) => name === 'migrate') };
}

it('has values for every process, and nothing more than one of each in the profile for one node', async () => {
  const { images } = valuesOfChart();
  const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as { readonly required: string[] };
  expect(Object.keys(images)).toEqual(expect.arrayContaining([...ROLES]));
  expect(schema.required).toEqual(expect.arrayContaining([...ROLES]));
  const replicas = (await resourcesOf('single')).flatMap(({ metadata, spec }) =>
    spec?.replicas === undefined ? [] : [[metadata.name, spec.replicas]],
  );
  expect(replicas.length).toBeGreaterThanOrEqual(ROLES.length);
  expect(replicas.filter(([, count]) => count !== 1)).toEqual([]);
});

it.each(['values.yaml', 'profiles/single.yaml'])(
  '%s can give each port of a gateway that others dial a port of the nodes',
  (file) => {
    const { relay: _other, ...dialled } = SERVICES.gateway.listens;
    expect(Object.keys(valuesIn(file).gateway.service.nodePorts).toSorted()).toEqual(Object.keys(dialled).toSorted());
  },
);

describe.each(ROLES)('%s', (role) => {
  const { listens, secrets, tier } = rowOf(role);

  it('has the name, the account and the image of its row', () => {
    const { metadata, spec } = workloadOf(role);
    const { main, migrate } = containersOf(role);
    expect(metadata.labels).toMatchObject({ 'app.kubernetes.io/name': role });
    expect(spec!.template!.spec.serviceAccountName).toBe(`fairlead-${role}`);
    expect(named('ServiceAccount', `fairlead-${role}`)).toMatchObject({ automountServiceAccountToken: false });
    expect([main, ...migrate].map(({ image }) => imageName(image))).toEqual([main, ...migrate].map(() => role));
  });

  it('listens where its row says', () => {
    const { main } = containersOf(role);
    const ports = Object.fromEntries((main.ports ?? []).map(({ name, containerPort }) => [name, containerPort]));
    const wanted = Object.entries(listens).map(([name, { port }]) => [name, port] as const);
    expect(ports).toEqual({ health: POD_HEALTH_PORT, ...Object.fromEntries(wanted) });
    for (const { port, setting } of Object.values(listens))
      expect(environmentOf(main)[setting]).toBe(`0.0.0.0:${port}`);
  });

  it('has its credential and its secrets as files', () => {
    const values = environmentOf(containersOf(role).main);
    // A gateway's credential is named like its replica.
    expect(values['FAIRLEAD_CREDENTIAL']).toBe(role === 'gateway' ? 'fairlead-gateway-a' : role);
    expect(values['FAIRLEAD_NATS_SEED_FILE']).toBe('/run/fairlead/nats.seed');
    for (const [file, setting] of Object.entries(secrets)) expect(values[setting]).toBe(`/run/fairlead/${file}`);
    const url = tier === 'service' ? '/run/fairlead/database.url' : undefined;
    expect(values['FAIRLEAD_DATABASE_URL_FILE']).toBe(url);
  });

  it('migrates its schema first, if it has one, with the settings it then runs with', () => {
    const { main, migrate } = containersOf(role);
    expect(migrate).toHaveLength(tier === 'service' ? 1 : 0);
    for (const { args, env } of migrate) {
      expect(args).toEqual([entryIn(role), 'migrate']);
      expect(env).toEqual(main.env);
    }
  });

  it('reads each setting that its row and its pod name', () => {
    const text = settingsReadBy(role);
    const given = Object.keys(environmentOf(containersOf(role).main)).filter((name) => name.startsWith('FAIRLEAD_'));
    const unread = [...settingsOf(role), ...given].filter((name) => !new RegExp(`\\b${name}\\b`).test(text));
    expect(unread).toEqual([]);
  });

  it('has its Secret in README.md, and ExternalSecrets make the same', async () => {
    const line = readFileSync(join(CHART, 'README.md'), 'utf8')
      .split('\n')
      .find((each) => each.startsWith(`| \`fairlead-${role}`));
    const files = ['nats.seed', ...(tier === 'service' ? ['database.url'] : []), ...Object.keys(secrets)];
    for (const file of files) expect(line).toContain(`\`${file}\``);
    const external = await resourcesOf('production', {
      externalSecrets: { enabled: true, secretStoreRef: { name: 'vault' } },
    });
    const made = external.filter(({ kind }) => kind === 'ExternalSecret');
    const own = made.find(
      ({ metadata }) => metadata.name === (role === 'gateway' ? 'fairlead-gateway-a' : `fairlead-${role}`),
    );
    const data = own?.spec?.['data'] as { secretKey: string }[] | undefined;
    expect(data?.map(({ secretKey }) => secretKey).toSorted()).toEqual(files.toSorted());
  });
});

it('has every process of the table, and no other', () => {
  const workloads = all.filter(({ spec }) => spec?.template);
  const names = workloads.map(({ spec }) => spec!.template!.metadata.labels['app.kubernetes.io/name']);
  expect(new Set(names)).toEqual(new Set(ROLES));
});

it('lets each process to NATS, and each service to Postgres', () => {
  const selected = (name: string): readonly string[] | undefined => {
    const selector = named('NetworkPolicy', name)?.spec?.['podSelector'] as
      | { matchExpressions: readonly { key: string; values: readonly string[] }[] }
      | undefined;
    return selector?.matchExpressions.find(({ key }) => key === 'app.kubernetes.io/name')?.values;
  };
  expect(selected('to-nats')?.toSorted()).toEqual(ROLES.toSorted());
  expect(selected('to-postgres')?.toSorted()).toEqual(SERVICE_NAMES.toSorted());
});

it('sets what the rows name, and nothing else', () => {
  const set = Object.keys(named('ConfigMap', 'fairlead-settings')?.data ?? {});
  expect(new Set(set)).toEqual(new Set(ROLES.flatMap(settingsOf)));
});
