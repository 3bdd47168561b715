import { writeFile } from 'node:fs/promises';
import { clusterGitOps, installerReport } from '@fairlead/api/testing';
import { eventually } from '@fairlead/testing';
import { beforeEach, expect, it } from 'vitest';
import { loggedIn } from './testing/logged-in.js';

const containing = (text: string): string => expect.stringContaining(text) as string;

const scene = loggedIn();
const { fairlead } = scene;

beforeEach(async () => {
  const file = scene.scratch.file('flux.yaml');
  await writeFile(file, 'kind: Namespace\n');
  await fairlead(['bundle', 'import', file, '--tool', 'flux', '--version', 'v1']);
});

const ASSIGN = ['gitops', 'assign', 'shop'];
const priority = (): number | undefined => scene.api.script.assignments.get('shop')?.priority;

/** Between what a command reads and what it writes. */
function somebodyElse(changes: number | null): void {
  scene.api.script.meanwhile = () => {
    const { assignments } = scene.api.script;
    const [known] = assignments.values();
    if (changes === null) assignments.clear();
    else if (known) assignments.set('shop', { ...known, priority: changes });
    scene.api.script.meanwhile = () => undefined;
  };
}

it.each([
  ['assign', [...ASSIGN, '--self-heal', 'observe']],
  ['suspend', ['gitops', 'suspend', 'shop']],
  ['resume', ['gitops', 'resume', 'shop']],
])('%s does not overwrite what somebody else changed meanwhile, and does it when run again', async (_what, args) => {
  await fairlead([...ASSIGN, '--label', 'stage=prod']);
  somebodyElse(7);
  expect(await fairlead(args)).toMatchObject({
    status: 1,
    err: containing(
      'somebody changed the assignment shop meanwhile\nnext: see what it is now, with fairlead gitops show',
    ),
  });
  expect(priority()).toBe(7);
  expect(await fairlead(args)).toMatchObject({ status: 0 });
  expect(priority()).toBe(7);
});

it('assign does not bring back what somebody else removed meanwhile', async () => {
  await fairlead([...ASSIGN, '--label', 'stage=prod']);
  somebodyElse(null);
  expect(await fairlead([...ASSIGN, '--priority', '3'])).toMatchObject({ status: 1, err: containing('meanwhile') });
  expect(scene.api.script.assignments.has('shop')).toBe(false);
});

/** It waits until all is well, so it may have patience; it watches to the end of its time, which is to be after the service's return. */
it.each([
  ['--wait', '60s'],
  ['--watch', '20s'],
])('status %s goes on while a service restarts, and says so once', async (flag, timeout) => {
  const { services, script } = scene.api;
  script.statuses.set('demo', clusterGitOps('demo', { health: 'progressing', revision: 2 }));
  await services.stopGitops();
  let said = '';
  const onStderr = (text: string): void => void (said += text);
  const waiting = fairlead(['gitops', 'status', 'demo', flag, '--timeout', timeout], { onStderr });
  await eventually(() => expect(said).toContain('waiting for it to come back\n'), { timeoutMs: 30_000 });
  await services.startGitops();
  script.statuses.set('demo', clusterGitOps('demo', { health: 'healthy', revision: 2, report: installerReport(2) }));
  const { status, out, err } = await waiting;
  expect({ status, lines: err.split('\n').length }).toEqual({ status: 0, lines: 2 });
  expect(out).toContain('healthy, healthy, revision 2 of 2');
});

it('status --wait ends in time though the server is away, and at once where waiting does not help', async () => {
  const wait = ['gitops', 'status', 'demo', '--wait'];
  expect(await fairlead([...wait, '--timeout', '60s'])).toMatchObject({
    status: 1,
    err: containing('no cluster named'),
  });
  await scene.api.services.stopGitops();
  const late = await fairlead([...wait, '--timeout', '1s']);
  expect(late).toMatchObject({ status: 1, err: containing('error: demo is not healthy: ') });
  await scene.api.services.startGitops();
});
