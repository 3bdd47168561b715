// What docker-compose.yml repeats of the table of services, and which container has what of secrets and networks.
import { COMMON_SETTINGS, ROLES, SERVICE_NAMES, rowOf, type Role } from '@fairlead/contracts';
import { createFolderStore, makeSecrets } from '@fairlead/setup';
import { scratchDir } from '@fairlead/testing';
import { mkdir, readdir } from 'node:fs/promises';
import { matchesGlob } from 'node:path';
import { describe, expect, it } from 'vitest';
import { entryIn, imageName, readText, settingsReadBy } from '../control-plane/image-entries.js';
import { networksOf, readCompose, volumesOf, type ComposeService } from './read-compose.js';

const { services, networks, volumes } = readCompose();
const GATEWAYS = ['gateway-a', 'gateway-b'];
const DEMO = ['demo-agent', 'demo-apiserver', 'demo-etcd', 'demo-keys', 'tour'];
const CURRENT = '/run/fairlead/current';
const SPOOL = '/var/lib/fairlead/audit';

const service = (name: string): ComposeService => {
  const found = services[name];
  if (found === undefined) throw new Error(`docker-compose.yml has no ${name}`);
  return found;
};
const roleOf = (name: string): Role => (GATEWAYS.includes(name) ? 'gateway' : (name as Role));
const PROCESSES = [...ROLES.filter((role) => role !== 'gateway'), ...GATEWAYS];

describe.each(PROCESSES)('%s', (name) => {
  const role = roleOf(name);
  const { listens, secrets, tier } = rowOf(role);
  const settings = (): NonNullable<ComposeService['environment']> => service(name).environment ?? {};

  it('has the image of its row, built here and never pulled', () => {
    expect(imageName(service(name).image)).toBe(role);
    // Nobody here owns a name at a public registry; what clusters of one's own are told to run is named so, too.
    const told = Object.entries(settings()).filter(([setting]) => setting.endsWith('_IMAGE'));
    for (const image of [service(name).image, ...told.map(([, value]) => value)])
      expect(image).toMatch(/^localhost\/fairlead\//);
    expect(service(name).pull_policy).toBe('never');
    const built = Object.values(services).filter((each) => each?.image === service(name).image && each.build);
    expect(built.map((each) => each?.build?.target)).toEqual([role]);
  });

  it('has its credential, its secrets as files, and no other volume', () => {
    expect(settings()['FAIRLEAD_CREDENTIAL']).toBe(name);
    expect(settings()['FAIRLEAD_NATS_SEED_FILE']).toBe(`${CURRENT}/nats.seed`);
    for (const [file, setting] of Object.entries(secrets)) expect(settings()[setting]).toBe(`${CURRENT}/${file}`);
    const url = tier === 'service' ? `${CURRENT}/database.url` : undefined;
    expect(settings()['FAIRLEAD_DATABASE_URL_FILE']).toBe(url);
    expect(volumesOf(service(name))).toEqual([
      { volume: name, target: '/run/fairlead', readOnly: true },
      { volume: 'infrastructure-ca', target: '/etc/fairlead', readOnly: true },
      // Where it keeps what is not to be in the database alone.
      ...(role === 'keys' ? [{ volume: 'checkpoints', target: '/var/lib/fairlead/checkpoints', readOnly: false }] : []),
      // And what of its audit NATS does not have yet: no other gateway's.
      ...(role === 'gateway' ? [{ volume: `${name}-spool`, target: SPOOL, readOnly: false }] : []),
    ]);
    expect(settings()['FAIRLEAD_AUDIT_SPOOL_DIR']).toBe(role === 'gateway' ? SPOOL : undefined);
  });

  it('listens on the ports of its row', () => {
    for (const { port, setting } of Object.values(listens))
      expect(settings()[setting]).toMatch(new RegExp(`:${port}$`));
    // Of a gateway all but what other replicas dial.
    const published = Object.entries(listens).flatMap(([port, row]) => (port === 'relay' ? [] : [row.port]));
    const ports = (service(name).ports ?? []).map((each) => Number(each.split(':').at(-1)));
    expect(ports).toEqual(expect.arrayContaining(published));
  });

  it('has each setting that its row names, and none that it does not read', () => {
    const optional = /PROXY_PROTOCOL_FROM|AGENT_SERVER_NAME|AGENT_TRACING_ENDPOINT|^OTEL_/;
    const wanted = [...COMMON_SETTINGS[tier], ...rowOf(role).settings].filter((each) => !optional.test(each));
    expect(wanted.filter((each) => settings()[each] === undefined)).toEqual([]);
    const text = settingsReadBy(role);
    expect(Object.keys(settings()).filter((each) => !new RegExp(`\\b${each}\\b`).test(text))).toEqual([]);
  });

  it('migrates its schema first, if it has one, with the settings it then runs with', () => {
    const migrate = services[`${name}-migrate`];
    expect(migrate !== undefined).toBe(tier === 'service');
    if (migrate === undefined) return;
    expect(migrate.command).toEqual([entryIn(role), 'migrate']);
    expect([migrate.image, migrate.environment, migrate.volumes]).toEqual(
      [service(name)].flatMap(({ image, environment, volumes: mounted }) => [image, environment, mounted]),
    );
    expect(service(name).depends_on).toMatchObject({
      [`${name}-migrate`]: { condition: 'service_completed_successfully' },
    });
  });

  it('comes back, and says how it is', () => {
    expect(service(name).restart).toBe('unless-stopped');
    expect(service(name).healthcheck?.test[0]).toBe('CMD');
  });
});

it('has every process of the table, and beside them only what these need', () => {
  const migrations = SERVICE_NAMES.map((name) => `${name}-migrate`);
  const others = ['nats', 'postgres', 'secrets', 'setup', 'serving-root'];
  expect(Object.keys(services).toSorted()).toEqual([...PROCESSES, ...migrations, ...others, ...DEMO].toSorted());
});

it('has a volume for each Secret and ConfigMap that setup makes', async () => {
  await using scratch = await scratchDir();
  const mounts = volumesOf(service('secrets'));
  for (const { target } of mounts) await mkdir(scratch.file(target), { recursive: true });
  const store = createFolderStore({ dir: scratch.file('volumes'), ownerOf: () => undefined });
  const gateways = String(service('secrets').environment?.['FAIRLEAD_GATEWAYS']).split(',');
  expect(gateways).toEqual(GATEWAYS);
  const made = await makeSecrets(store, { gateways, natsNames: ['nats'], postgresNames: ['postgres'] });
  const copies = ['fairlead-setup-servers', 'fairlead-tour'];
  expect([...made, ...copies].toSorted()).toEqual((await readdir(scratch.file('volumes/secrets'))).toSorted());
  const all = [...mounts, ...volumesOf(service('demo-keys'))].map(({ volume }) => volume);
  expect(all.toSorted()).toEqual(Object.keys(volumes).toSorted());
});

it('lets each Secret to whom it is for, read-only, and to who makes it', () => {
  const whoHas = (volume: string, isReadOnly: boolean): string[] =>
    Object.keys(services)
      .filter((name) => volumesOf(service(name)).some((each) => each.volume === volume && each.readOnly === isReadOnly))
      .toSorted();
  const migrating = SERVICE_NAMES.map((name) => [name, [name, `${name}-migrate`]] as const);
  const readers: Readonly<Record<string, readonly string[]>> = {
    ...Object.fromEntries([...GATEWAYS, 'tour'].map((name) => [name, [name]])),
    ...Object.fromEntries(migrating),
    // It asks for the root of the API's certificate, and leaves that alone behind.
    api: ['api', 'serving-root'],
    'infrastructure-ca-key': [],
    'nats-operator': [],
    'nats-server': ['nats'],
    'postgres-admin': ['postgres'],
    'postgres-server': ['postgres'],
    'setup-servers': ['setup'],
  };
  const madeBy = (name: string): string[] =>
    volumesOf(service(name)).flatMap(({ volume, target }) => (target.startsWith('/volumes/secrets/') ? volume : []));
  expect(Object.keys(readers).toSorted()).toEqual(madeBy('secrets').toSorted());
  for (const volume of madeBy('secrets'))
    expect([volume, whoHas(volume, true), whoHas(volume, false)]).toEqual([volume, readers[volume], ['secrets']]);
  for (const volume of madeBy('demo-keys')) {
    const reader = volume === 'demo-admin' ? 'tour' : volume;
    expect([volume, whoHas(volume, true), whoHas(volume, false)]).toEqual([volume, [reader], ['demo-keys']]);
  }
});

it.each([
  '.env',
  'admin.token',
  'root.pem',
  'release.pem',
  'admin.url',
  'my-cluster.kubeconfig',
  'client.key',
  'fairlead-credentials/secrets/nats-operator.seed',
  '.fairlead/secrets/admin-token',
  '.fairlead-mine/ca.pem',
  'bundle.json',
  'siem.nk',
  'edge-7.secret',
  'gateway-a.seed',
  'chat.secret',
])('gives %s, which documents have people write here, to no builder of images', (path) => {
  const patterns = readText('.dockerignore').split('\n');
  const isLeftOut = patterns.some((each) => each !== '' && (matchesGlob(path, each) || path.startsWith(`${each}/`)));
  const ofFolder = patterns.some((each) => each !== '' && matchesGlob(path.split('/')[0]!, each));
  expect(isLeftOut || ofFolder).toBe(true);
});

describe.each(Object.keys(services))('the container of %s', (name) => {
  it('has no rights, but who makes secrets', () => {
    const { read_only, cap_drop, cap_add = [], security_opt, privileged, user } = service(name);
    expect({ read_only, cap_drop, security_opt, privileged }).toEqual({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      privileged: undefined,
    });
    const makesKeys = ['secrets', 'demo-keys'].includes(name);
    // The file of the program has it, and is not run without.
    const others = name === 'demo-apiserver' ? ['NET_BIND_SERVICE'] : [];
    expect(cap_add).toEqual(makesKeys ? ['CHOWN', 'DAC_OVERRIDE'] : others);
    expect(user).toMatch(makesKeys ? /^0:0$/ : /^[1-9]\d*:[1-9]\d*$/);
    expect(service(name).network_mode).toBe(makesKeys ? 'none' : undefined);
  });

  it('has memory for files of a bounded size', () => {
    for (const mount of service(name).tmpfs ?? []) expect(mount).toMatch(/:size=\d+m(,uid=70,mode=0755)?$/);
  });

  it('publishes on loopback, and health nowhere else', () => {
    for (const port of service(name).ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:7\d{3}:7\d{3}$/);
  });
});

describe('networks', () => {
  const members = (network: string): string[] =>
    Object.keys(services).filter((name) => networksOf(service(name)).includes(network));

  it('let services alone to Postgres, and every process to NATS', () => {
    const migrations = SERVICE_NAMES.map((name) => `${name}-migrate`);
    expect(members('database').toSorted()).toEqual([...SERVICE_NAMES, ...migrations, 'postgres', 'setup'].toSorted());
    expect(members('bus').toSorted()).toEqual([...PROCESSES, 'nats', 'serving-root', 'setup'].toSorted());
  });

  it('let gateways alone to relays', () => {
    expect(members('relay')).toEqual(GATEWAYS);
    for (const name of GATEWAYS) {
      const { environment = {}, networks: joined } = service(name);
      expect(joined).toMatchObject({
        relay: { aliases: [`${name}.relay`] },
        outside: { aliases: [`${name}.outside`] },
      });
      expect(environment['FAIRLEAD_RELAY_LISTEN']).toBe(`${name}.relay:7445`);
      expect(environment['FAIRLEAD_HEALTH_LISTEN']).toBe(`${name}.outside:7446`);
    }
  });

  it('let the agent to gateways and to its own cluster, and its cluster to nobody', () => {
    expect(networksOf(service('demo-agent'))).toEqual(['agents', 'demo']);
    expect(members('agents').toSorted()).toEqual(['demo-agent', ...GATEWAYS]);
    expect(members('demo').toSorted()).toEqual(['demo-agent', 'demo-apiserver', 'tour']);
    expect(members('demo-etcd').toSorted()).toEqual(['demo-apiserver', 'demo-etcd']);
  });

  it('lead out of here for those alone who publish ports or ask others', () => {
    const closed = Object.entries(networks).filter(([, network]) => network.internal !== true);
    expect(closed.map(([name]) => name)).toEqual(['outside']);
    const outside = ['access', 'api', 'audit', 'gateway-a', 'gateway-b', 'gitops', 'keys', 'tour'];
    expect(members('outside').toSorted()).toEqual(outside);
  });
});
