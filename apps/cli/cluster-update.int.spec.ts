import { writeFile } from 'node:fs/promises';
import { clusterGitOps } from '@fairlead/api/testing';
import { beforeEach, expect, it } from 'vitest';
import { loggedIn } from './testing/logged-in.js';

const containing = (text: string): string => expect.stringContaining(text) as string;

const scene = loggedIn();
const { fairlead } = scene;

beforeEach(async () => {
  await fairlead(['cluster', 'create', 'demo', '--links', '1']);
  scene.api.script.statuses.set('demo', clusterGitOps('demo'));
});

const update = (...args: string[]) => fairlead(['cluster', 'update', 'demo', ...args]);
const demo = () => scene.api.script.clusters.get('demo');

async function importFlux(): Promise<void> {
  const file = scene.scratch.file('flux.yaml');
  await writeFile(file, 'kind: Namespace\n');
  await fairlead(['bundle', 'import', file, '--tool', 'flux', '--version', 'v1']);
}

it('brings an installer and an assignment to a cluster that was created without', async () => {
  expect(await update('--gitops', 'flux')).toMatchObject({ status: 1, err: containing('fairlead bundle import FILE') });
  expect(demo()).toMatchObject({ gitops: false });
  await importFlux();
  const changed = await update('--gitops', 'flux');
  expect(changed).toMatchObject({ status: 0, out: containing('fairlead cluster import demo | kubectl apply -f -') });
  expect(changed.out).toContain('assignment demo made');
  expect(demo()).toMatchObject({ gitops: true, links: 1, egress: [] });
  expect(scene.api.script.assignments.get('demo')).toMatchObject({ selector: { cluster: 'demo' }, tool: 'flux' });
  expect((await fairlead(['cluster', 'show', 'demo'])).out).toMatch(/installer +yes\n/);
});

it('leaves an assignment alone that selects the cluster, or has its name', async () => {
  await importFlux();
  scene.api.script.statuses.set('demo', clusterGitOps('demo', { assignment: 'all-shops' }));
  expect((await update('--gitops', 'flux')).out).toContain('it follows the assignment all-shops');
  expect(scene.api.script.assignments.size).toBe(0);
  await fairlead(['gitops', 'assign', 'demo', '--label', 'stage=prod']);
  expect(await update('--gitops', 'flux', '--path', 'x', '--repo', 'catalog')).toMatchObject({
    status: 2,
    err: containing('change that one: fairlead gitops assign demo'),
  });
});

it('says what applying the manifest does not take away', async () => {
  expect((await update('--egress', '2222=git.example.com:22', '--egress', '2223=git.example.com:23')).status).toBe(0);
  expect(demo()).toMatchObject({ egress: ['2222=git.example.com:22', '2223=git.example.com:23'], gitops: false });
  const off = await update('--no-egress', '--gitops', 'off', '--allow-target', '*.shop.svc:443');
  expect(off.out).toContain('delete service/fairlead-egress');
  expect(off.out).not.toContain('fairlead-installer');
  expect(demo()).toMatchObject({ egress: [], targets: ['*.shop.svc:443'] });
  await importFlux();
  await update('--gitops', 'flux', '--no-allow-target');
  expect(demo()).toMatchObject({ targets: [], gitops: true });
  const json = await update('--gitops', 'off', '-o', 'json');
  expect(JSON.parse(json.out)).toMatchObject({ name: 'demo', gitops: false });
});

it('keeps a file of values, by whichever command it comes', async () => {
  const file = scene.scratch.file('values.yaml');
  const saying = async (text: string, ...args: string[]) => {
    await writeFile(file, text);
    return fairlead(['cluster', ...args, '--values', file]);
  };
  const made = await saying('nodeSelector: {pool: infra}\n', 'create', 'edge');
  expect(made).toMatchObject({ status: 0 });
  expect(scene.api.script.clusters.get('edge')?.manifestValues).toEqual({ nodeSelector: { pool: 'infra' } });
  const imported = await saying('namespace: edge-agent\nproxy:\n  httpsProxy: http://proxy:3128\n', 'import', 'demo');
  expect(imported).toMatchObject({ status: 0, out: containing('kind: Namespace') });
  expect(demo()?.manifestValues).toEqual({ namespace: 'edge-agent', proxy: { httpsProxy: 'http://proxy:3128' } });
  expect((await fairlead(['cluster', 'show', 'demo'])).out).toMatch(
    /namespace +edge-agent\nvalues +namespace, proxy\n/,
  );
  expect((await saying('', 'update', 'demo')).out).toContain('kubectl delete namespace edge-agent');
  expect(demo()?.manifestValues).toEqual({});
});

it.each([
  ['hostPath: /\n', 1, 'values.yaml: there is no hostPath here; allowed are namespace,'],
  ['proxy: {httpsProxy: "http://me:word@p:1"}\n', 1, 'values.yaml: proxy.httpsProxy: write http://HOST:PORT'],
  ['podLabels: {fairlead.dev/x: a}\n', 1, 'values.yaml: podLabels.fairlead.dev/x: app.kubernetes.io/name, component,'],
  [
    'resources: {limits: {memory: 1GB}}\n',
    1,
    'values.yaml: resources.limits.memory: write bytes as 256Mi or 1Gi, 96Mi to 64Gi\n',
  ],
  ['- a\n', 2, 'values.yaml is no mapping of values'],
  ['a: [\n', 2, 'values.yaml is no YAML: '],
  [`a: ${'x'.repeat(70_000)}\n`, 2, 'has more than 65536 bytes'],
])('refuses values such as %j in one line, and makes no link then', async (text, status, line) => {
  const file = scene.scratch.file('values.yaml');
  await writeFile(file, text);
  const before = scene.api.script.links.size;
  const refused = await fairlead(['cluster', 'import', 'demo', '--values', file]);
  expect(refused).toMatchObject({ status, out: '', err: containing(line) });
  expect(refused.err.trim().split('\n')).toHaveLength(2);
  expect(scene.api.script.links.size).toBe(before);
});

it('changes labels, and lists what is meant by them', async () => {
  await fairlead(['cluster', 'create', 'other', '--label', 'zone=eu']);
  const labelled = await fairlead(['cluster', 'label', 'demo', 'zone=us', 'example.com/stage=prod']);
  expect(labelled).toMatchObject({ status: 0, out: 'cluster demo has the labels zone=us,example.com/stage=prod\n' });
  await fairlead(['cluster', 'label', 'demo', 'zone-', 'team=a']);
  expect(demo()?.labels).toEqual({ 'example.com/stage': 'prod', team: 'a' });
  await fairlead(['cluster', 'import', 'demo', '--label', 'team=b']);
  expect(demo()?.labels).toEqual({ 'example.com/stage': 'prod', team: 'b' });
  const names = async (...args: string[]) => (await fairlead(['cluster', 'list', '-o', 'name', ...args])).out;
  expect(await names('-l', 'zone in (eu,us)')).toBe('other\n');
  expect(await names('--selector', '!zone,team=b')).toBe('demo\n');
  expect((await fairlead(['cluster', 'list', '-l', 'a>b'])).err).toContain(
    'error: query.selector: write conditions as',
  );
  expect((await fairlead(['cluster', 'label', 'demo', 'zone=a b'])).err).toContain('error: labels.zone: a value is');
  for (const wrong of [['zone'], ['zone=a', 'zone-'], ['=a']]) {
    expect(await fairlead(['cluster', 'label', 'demo', ...wrong])).toMatchObject({ status: 2 });
  }
});

it('is not asked for nothing, or for what is not there', async () => {
  expect(await update()).toMatchObject({ status: 2, err: containing('not said what to change') });
  expect(await update('--repo', 'catalog', '--links', '2')).toMatchObject({ status: 2, err: containing('--gitops') });
  expect(await update('--gitops', 'off', '--path', 'x')).toMatchObject({ status: 2 });
  expect(demo()).toMatchObject({ links: 1 });
  expect(await fairlead(['cluster', 'update', 'other', '--links', '2'])).toMatchObject({ status: 1 });
});
