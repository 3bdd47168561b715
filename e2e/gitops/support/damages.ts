import { refOf, shown, type KubeObject } from '@fairlead/kube/rest';
import { podProcesses, type Kubectl } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { expect } from 'vitest';
import { greeting, greetingIn, greets, push } from './catalog.js';
import { areAsBefore, editByHand } from './hand-edits.js';
import { heals, type Damage } from './healing.js';
import { addHostileWebhook } from './hostile-webhook.js';
import { allAreBack, deleteAll, oneOfEachKind, oursIn } from './ours.js';
import type { World } from './world.js';

/** From the damage on, on a machine that is busy with other things; docs/gitops.md has what it took. Retries are drawn, and grow. */
export const WITHIN = { seconds: 60_000, minutes: 120_000, retries: 180_000 };

/** Where something is broken. */
export interface Scene {
  readonly world: World;
  /** As the cluster's own administrator. */
  readonly kubectl: Kubectl;
}

type Undoing = (scene: Scene) => Promise<void>;

const MISSING_IMAGE = 'ghcr.io/fluxcd/kustomize-controller:v0.0.0';
const CONTROLLERS = ['Deployment flux-system/source-controller', 'Deployment flux-system/kustomize-controller'];
const DEFINITION = 'gitrepositories.source.toolkit.fluxcd.io';

type Kube = Pick<World, 'kubectl'>;

/** kubectl in the namespace of Flux. */
export const flux = (world: Kube, ...args: string[]): Promise<string> => world.kubectl([...args, '-n', 'flux-system']);
const names = (objects: readonly KubeObject[]): string[] => objects.map((object) => shown(refOf(object)));
const applied = (object: RegExp): NonNullable<Damage['story']>[number] => ['applied', object];

const objectsOfEachKind: Undoing = async ({ world }) => {
  // These take others along when they go.
  const chosen = oneOfEachKind(await oursIn(world)).filter(
    ({ kind }) => !['Namespace', 'CustomResourceDefinition'].includes(kind),
  );
  expect(chosen.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['Deployment', 'GitRepository', 'Secret']));
  await heals(world, {
    harm: () => deleteAll(world, chosen),
    undone: () => allAreBack(world, chosen),
    withinMs: WITHIN.minutes,
    written: () => names(chosen),
  });
};

const scaledAndWithoutImage: Undoing = async ({ world }) => {
  const image = ['set', 'image', 'deployment/kustomize-controller', `manager=${MISSING_IMAGE}`];
  const available = 'jsonpath={.status.availableReplicas}';
  await heals(world, {
    harm: () =>
      Promise.all([flux(world, 'scale', 'deployment/source-controller', '--replicas=0'), flux(world, ...image)]),
    undone: async () => {
      expect(await flux(world, 'get', 'deployment', 'source-controller', '-o', available)).toBe('1');
      expect(await flux(world, 'get', 'deployment', 'kustomize-controller', '-o', 'yaml')).not.toContain(MISSING_IMAGE);
    },
    withinMs: WITHIN.seconds,
    written: () => CONTROLLERS,
  });
};

const definitionAndRights: Undoing = async ({ world }) => {
  const schemas = (): Promise<string> => world.kubectl(['get', 'crd', DEFINITION, '-o', 'jsonpath={.spec.versions}']);
  const before = await schemas();
  const useless = [{ op: 'replace', path: '/spec/versions/0/schema/openAPIV3Schema', value: { type: 'object' } }];
  const role = ['clusterrole', 'crd-controller'];
  await heals(world, {
    harm: async () => {
      await world.kubectl(['patch', 'crd', DEFINITION, '--type=json', '-p', JSON.stringify(useless)]);
      await world.kubectl(['patch', ...role, '--type=merge', '-p', '{"rules":[]}']);
    },
    undone: async () => {
      expect(await schemas()).toBe(before);
      expect(await world.kubectl(['get', ...role, '-o', 'yaml'])).toContain('source.toolkit.fluxcd.io');
    },
    withinMs: WITHIN.seconds,
    written: () => [`CustomResourceDefinition ${DEFINITION}`, 'ClusterRole crd-controller'],
  });
};

const handEdits: Undoing = async ({ world }) => {
  const deployment = ['deployment', 'kustomize-controller'];
  const generationIn = (part: string): Promise<string> =>
    flux(world, 'get', ...deployment, '-o', `jsonpath={.${part}eneration}`);
  await flux(world, 'patch', ...deployment, '--field-manager=helm', '-p', '{"spec":{"revisionHistoryLimit":3}}');
  await flux(world, 'annotate', ...deployment, '--overwrite', 'example.com/team=shops');
  await eventually(async () => expect(await generationIn('status.observedG')).toBe(await generationIn('metadata.g')));
  let before: readonly KubeObject[] = [];
  await heals(world, {
    harm: async () => {
      before = await editByHand(world);
    },
    undone: () => areAsBefore(world, before),
    withinMs: WITHIN.minutes,
    written: () => names(before),
  });
  expect(before[0]).toMatchObject({
    metadata: { annotations: { 'example.com/team': 'shops' } },
    spec: { revisionHistoryLimit: 3 },
  });
};

const hostileWebhook: Undoing = async ({ world }) => {
  await using webhook = await addHostileWebhook(world);
  await eventually(async () => expect(await webhook.refusalElsewhere()).toContain('failed calling webhook'));
  await heals(world, {
    harm: () => flux(world, 'delete', 'deployment/source-controller', 'service/source-controller', '--wait=false'),
    undone: () => flux(world, 'get', 'deployment/source-controller', 'service/source-controller'),
    withinMs: WITHIN.retries,
    story: [applied(new RegExp(webhook.shown)), applied(/Deployment flux-system\/source-controller/)],
  });
  // It is there still, and goes on for everybody else.
  expect(await webhook.refusalElsewhere()).toContain('failed calling webhook');
};

const accountOfController: Undoing = async ({ world }) => {
  const account = (await oursIn(world)).filter(
    ({ kind, metadata }) => kind === 'ServiceAccount' && metadata.name === 'kustomize-controller',
  );
  expect(account).toHaveLength(1);
  await heals(world, {
    harm: () => deleteAll(world, account),
    undone: () => allAreBack(world, account),
    withinMs: WITHIN.minutes,
    story: [
      applied(/ServiceAccount/),
      ['observed', /^$/],
      ['restarted', /Deployment flux-system\/kustomize-controller/],
    ],
  });
};

const frozenController: Undoing = async ({ world, kubectl }) => {
  const processOfIt = async (): Promise<number | undefined> =>
    (await podProcesses(kubectl, 'flux-system', 'app=source-controller'))[0]?.pid;
  const frozen = await processOfIt();
  // Nobody's id would be that of a group, ours.
  if (!frozen) throw new Error('no process of the source-controller runs');
  await heals(world, {
    harm: async () => process.kill(frozen, 'SIGSTOP'),
    undone: async () => {
      const now = await processOfIt();
      expect(now).toBeDefined();
      expect(now).not.toBe(frozen);
    },
    withinMs: WITHIN.minutes,
    story: [['observed', /^$/]],
  });
};

const everything: Undoing = async ({ world }) => {
  const all = await oursIn(world);
  // As `kubectl delete -f` of its manifest does: what follows the repository goes with its definitions.
  const ofManifest = all.filter(({ apiVersion }) => !apiVersion.includes('toolkit.fluxcd.io'));
  await heals(world, {
    harm: () => deleteAll(world, ofManifest),
    undone: () => allAreBack(world, all),
    withinMs: WITHIN.retries,
    written: () => names(all),
  });
  const text = `after all of it was gone, ${new Date().toISOString()}`;
  await push(world, 'from-git.yaml', greeting('from-git', text));
  await greets(world, 'from-git', text);
  expect(await greetingIn(world, 'from-git')).toBe(text);
};

/** What somebody does to Flux, each with what does it and sees it undone. */
export const DAMAGES: readonly (readonly [title: string, isUndone: Undoing])[] = [
  ['one object of each kind is deleted', objectsOfEachKind],
  ['a controller is scaled to nothing, and the other has an image that nobody has', scaledAndWithoutImage],
  ['a definition is made useless, and rights are taken away', definitionAndRights],
  ['fields are edited by hand; what another operator set, and is not of Flux, stays', handEdits],
  ['an admission webhook that nobody answers for forbids every write', hostileWebhook],
  [
    'the account of a controller is deleted: it is Running, and may do nothing with the token that it has',
    accountOfController,
  ],
  ['a controller is frozen: it is Running and does nothing', frozenController],
  ['all that was installed is deleted, the namespace and the definitions too', everything],
];
