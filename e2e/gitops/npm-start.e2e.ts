// @tier full: npm start is shown by e2e/main-job/npm-start, following by e2e/gitops/follow
import { eventually } from '@fairlead/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  endRunsAfterTests,
  folder,
  interrupt,
  leftovers,
  paste,
  ready,
  start,
  type Run,
} from '../support/npm-start.js';

/**
 * Far from the other runs of npm start, which may be at work just now, and below the ports that the testbed picks from for what is told
 * no port: neighbours have dozens of those.
 */
const BASE = 9_000;

endRunsAfterTests();

interface Printed {
  readonly change: string;
  readonly push: string;
  readonly look: string;
}

/** The commands about GitOps, as somebody would paste them. */
function printed({ watch: { lines } }: Run): Printed {
  const last = (pattern: RegExp): string => lines.findLast((line) => pattern.test(line))?.trim() ?? '';
  return { change: last(/--dry-run=client/), push: last(/push --quiet/), look: last(/get configmap from-git/) };
}

describe('npm start -- --gitops', () => {
  let stateDir: string;

  beforeAll(async () => {
    stateDir = await folder();
  });

  it('takes the place of a demo without it, which names it', async () => {
    const plain = start(stateDir, BASE);
    await ready(plain);
    await plain.watch.line(/npm start -- --gitops/, 1_000);
    expect(await interrupt(plain)).toBe(0);
  });

  it('shows what the demo follows, a pushed change arrives and is told, and Ctrl-C leaves nothing', async () => {
    const run = start(stateDir, BASE, '--gitops');
    await follows(run, /^hello$/);
    expect(await interrupt(run)).toBe(0);
    await eventually(async () => expect(await leftovers(stateDir)).toEqual([]));
  });

  it('goes on with the same repository after a restart, once the agent is connected again', async () => {
    const run = start(stateDir, BASE);
    await follows(run, /^hello, .*:/);
    expect(await interrupt(run)).toBe(0);
  });
});

/** Its ready screen says that it follows, the cluster has this greeting by then, and gets the one that is pushed. */
async function follows(run: Run, greeting: RegExp): Promise<void> {
  await ready(run);
  await run.watch.line(/The demo cluster is healthy, follows main@sha1:[0-9a-f]{12}\./, 1_000);
  const { change, push, look } = printed(run);
  const before = await paste(look);
  expect(before).toMatch(greeting);
  await paste(change);
  await paste(push);
  await eventually(async () => expect(await paste(look)).not.toBe(before), { timeoutMs: 60_000 });
  await run.watch.line(/^- demo: .*follows main@sha1:/, 60_000);
}
