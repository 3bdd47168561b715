import { writeFile } from 'node:fs/promises';
import { fluxInstallManifest } from '@fairlead/testbed';
import { eventually, scratchDir } from '@fairlead/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { fairlead } from '../../support/fairlead.js';
import { sharedStack } from '../../support/shared-stack.js';
import type { TestStack } from '../../support/test-stack.js';

/** GitHub's own, as it publishes it. Nothing is asked of GitHub here. */
const HOST_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl';
const FINGERPRINT = 'SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU';

let running: TestStack;

beforeAll(() => {
  running = sharedStack();
});

describe('the command line, before the real services', () => {
  it('takes a Git host, its key, a repository and a bundle', async () => {
    await fairlead(
      running.stack,
      'git-host',
      'add',
      'old',
      '--kind',
      'manual',
      '--ssh-host',
      '127.0.0.1',
      '--ssh-port',
      '1',
    );
    expect(await fairlead(running.stack, 'git-host', 'approve', 'old', '--key', HOST_KEY)).toContain(FINGERPRINT);
    expect(await fairlead(running.stack, 'git-host', 'list')).toMatch(/\nold +manual .* 1 approved /);
    await fairlead(running.stack, 'catalog', 'add', 'catalog', '--host', 'old', '--repo', 'platform/catalog');
    await using scratch = await scratchDir();
    const file = scratch.file('flux.yaml');
    await writeFile(file, await fluxInstallManifest());
    expect(await fairlead(running.stack, 'bundle', 'import', file, '--tool', 'flux', '--version', 'v2.3.0')).toContain(
      'image: ',
    );
  });

  it('makes a cluster that is to follow it, in one line', async () => {
    const line = ['cluster', 'create', 'shop', '--gitops', 'flux', '--repo', 'catalog'];
    const { code, stderr } = await running.stack.cli(line);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--branch NAME') as string]);
    expect(await fairlead(running.stack, ...line, '--branch', 'main')).toBe('cluster shop created\n');
    expect(await fairlead(running.stack, 'cluster', 'import', 'shop')).toContain('fairlead-installer');
    expect(await fairlead(running.stack, 'gitops', 'list')).toMatch(/\nshop +shop +100 +flux +v2\.3\.0 +catalog /);
    expect(await fairlead(running.stack, 'gitops', 'status', 'shop')).toMatch(/\nassignment +shop\n/);
    // Nobody waits for a cluster that was never heard of.
    await eventually(async () => expect(await fairlead(running.stack, 'rollout', 'list')).toMatch(/ shop +done /), {
      timeoutMs: 60_000,
    });
    expect(await fairlead(running.stack, 'gitops', 'breaker')).toBe('closed: nothing is held\n');
  });

  it('brings it to a cluster that was created without', async () => {
    await fairlead(running.stack, 'cluster', 'create', 'late');
    expect(await fairlead(running.stack, 'cluster', 'import', 'late')).not.toContain('fairlead-installer');
    const late = ['cluster', 'update', 'late', '--gitops', 'flux', '--repo', 'catalog', '--branch', 'main'];
    // gitops hears of a cluster a moment after it was made.
    const changed = await eventually(() => fairlead(running.stack, ...late), { timeoutMs: 30_000 });
    expect(changed).toContain('fairlead cluster import late | kubectl apply -f -');
    expect(await fairlead(running.stack, 'cluster', 'import', 'late')).toContain('fairlead-installer');
    expect(await fairlead(running.stack, 'gitops', 'status', 'late')).toMatch(/\nassignment +late\n/);
    await fairlead(running.stack, 'gitops', 'unassign', 'late', '--yes');
  });

  it('changes it, and takes all of it back', async () => {
    const late = await running.stack.cli(['rollout', 'pause', 'shop']);
    expect([late.code, late.stderr]).toEqual([1, expect.stringContaining('fairlead rollout list') as string]);
    expect(await fairlead(running.stack, 'gitops', 'suspend', 'shop')).toBe('assignment shop suspended\n');
    const kept = await running.stack.cli(['catalog', 'rm', 'catalog', '--yes']);
    expect([kept.code, kept.stderr]).toEqual([1, expect.stringContaining('fairlead gitops list') as string]);
    expect(await fairlead(running.stack, 'gitops', 'unassign', 'shop', '--yes')).toBe('assignment shop removed\n');
    // Its cluster follows it until gitops has told the cluster something else.
    await eventually(() => fairlead(running.stack, 'catalog', 'rm', 'catalog', '--yes'), { timeoutMs: 30_000 });
    await fairlead(running.stack, 'bundle', 'rm', 'v2.3.0', '--tool', 'flux', '--yes');
    expect(await fairlead(running.stack, 'git-host', 'rm', 'old', '--yes')).toBe('Git host old forgotten\n');
  });
});
