import { writeFile } from 'node:fs/promises';
import { fluxInstallManifest } from '@fairlead/testbed';
import { eventually, scratchDir } from '@fairlead/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { sharedStack } from '../../support/shared-stack.js';
import type { TestStack } from '../../support/test-stack.js';

/** GitHub's own, as it publishes it. Nothing is asked of GitHub here. */
const HOST_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl';
const FINGERPRINT = 'SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU';

let running: TestStack;

beforeAll(() => {
  running = sharedStack();
});

async function fairlead(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await running.stack.cli(args);
  if (code !== 0) throw new Error(`fairlead ${args.join(' ')}: ${stderr}`);
  return stdout;
}

describe('the command line, before the real services', () => {
  it('takes a Git host, its key, a repository and a bundle', async () => {
    await fairlead('git-host', 'add', 'old', '--kind', 'manual', '--ssh-host', '127.0.0.1', '--ssh-port', '1');
    expect(await fairlead('git-host', 'approve', 'old', '--key', HOST_KEY)).toContain(FINGERPRINT);
    expect(await fairlead('git-host', 'list')).toMatch(/\nold +manual .* 1 approved /);
    await fairlead('catalog', 'add', 'catalog', '--host', 'old', '--repo', 'platform/catalog');
    await using scratch = await scratchDir();
    const file = scratch.file('flux.yaml');
    await writeFile(file, await fluxInstallManifest());
    expect(await fairlead('bundle', 'import', file, '--tool', 'flux', '--version', 'v2.3.0')).toContain('image: ');
  });

  it('makes a cluster that is to follow it, in one line', async () => {
    const line = ['cluster', 'create', 'shop', '--gitops', 'flux', '--repo', 'catalog'];
    const { code, stderr } = await running.stack.cli(line);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--branch NAME') as string]);
    expect(await fairlead(...line, '--branch', 'main')).toBe('cluster shop created\n');
    expect(await fairlead('cluster', 'import', 'shop')).toContain('fairlead-installer');
    expect(await fairlead('gitops', 'list')).toMatch(/\nshop +shop +100 +flux +v2\.3\.0 +catalog /);
    expect(await fairlead('gitops', 'status', 'shop')).toMatch(/\nassignment +shop\n/);
    // Nobody waits for a cluster that was never heard of.
    await eventually(async () => expect(await fairlead('rollout', 'list')).toMatch(/ shop +done /), {
      timeoutMs: 60_000,
    });
    expect(await fairlead('gitops', 'breaker')).toBe('closed: nothing is held\n');
  });

  it('brings it to a cluster that was created without', async () => {
    await fairlead('cluster', 'create', 'late');
    expect(await fairlead('cluster', 'import', 'late')).not.toContain('fairlead-installer');
    const late = ['cluster', 'update', 'late', '--gitops', 'flux', '--repo', 'catalog', '--branch', 'main'];
    // gitops hears of a cluster a moment after it was made.
    const changed = await eventually(() => fairlead(...late), { timeoutMs: 30_000 });
    expect(changed).toContain('fairlead cluster import late | kubectl apply -f -');
    expect(await fairlead('cluster', 'import', 'late')).toContain('fairlead-installer');
    expect(await fairlead('gitops', 'status', 'late')).toMatch(/\nassignment +late\n/);
    await fairlead('gitops', 'unassign', 'late', '--yes');
  });

  it('changes it, and takes all of it back', async () => {
    const late = await running.stack.cli(['rollout', 'pause', 'shop']);
    expect([late.code, late.stderr]).toEqual([1, expect.stringContaining('fairlead rollout list') as string]);
    expect(await fairlead('gitops', 'suspend', 'shop')).toBe('assignment shop suspended\n');
    const kept = await running.stack.cli(['catalog', 'rm', 'catalog', '--yes']);
    expect([kept.code, kept.stderr]).toEqual([1, expect.stringContaining('fairlead gitops list') as string]);
    expect(await fairlead('gitops', 'unassign', 'shop', '--yes')).toBe('assignment shop removed\n');
    await fairlead('catalog', 'rm', 'catalog', '--yes');
    await fairlead('bundle', 'rm', 'v2.3.0', '--tool', 'flux', '--yes');
    expect(await fairlead('git-host', 'rm', 'old', '--yes')).toBe('Git host old forgotten\n');
  });
});
