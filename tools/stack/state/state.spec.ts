import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { freePort } from '@fairlead/testbed';
import { scratchDir } from '@fairlead/testing';
import { describe, expect, it } from 'vitest';
import { PortInUseError, StackError } from '../errors.js';
import { planPorts, portUses, requireFree } from './port-plan.js';
import { secretOnce } from './secret-file.js';
import { openStateDir } from './state-dir.js';

describe('a state directory', () => {
  it('belongs to one run at a time', async () => {
    await using scratch = await scratchDir();
    const first = openStateDir(scratch.file('state'));
    expect(() => openStateDir(scratch.file('state'))).toThrow(/another run \(process \d+\) uses/);
    first[Symbol.dispose]();
    using again = openStateDir(scratch.file('state'));
    expect(again.takenOver).toBe(false);
  });

  it('is taken over from a run that was killed', async () => {
    await using scratch = await scratchDir();
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    openStateDir(scratch.file('state'))[Symbol.dispose]();
    writeFileSync(scratch.file('state', 'lock'), JSON.stringify({ pid, startTime: '1' }));
    using state = openStateDir(scratch.file('state'));
    expect(state.takenOver).toBe(true);
  });

  it('says why it cannot be used', async () => {
    await using scratch = await scratchDir();
    writeFileSync(scratch.file('occupied'), '');
    expect(() => openStateDir(scratch.file('occupied'))).toThrow(
      new StackError(`the folder ${scratch.file('occupied')} cannot be written to: a file is in its place`),
    );
  });
});

describe('secretOnce', () => {
  it('makes a secret once, for its owner only', async () => {
    await using scratch = await scratchDir();
    const first = secretOnce(scratch.file('secret'));
    expect(secretOnce(scratch.file('secret'))).toBe(first);
    expect(Buffer.from(first, 'base64url')).toHaveLength(32);
    expect(statSync(scratch.file('secret')).mode & 0o777).toBe(0o600);
  });
});

describe('planPorts', () => {
  it('counts from the base, without giving a port twice', async () => {
    const plan = await planPorts(7_000, 3, '/nowhere');
    expect(plan).toMatchObject({ api: 7_070, nats: 7_422, postgres: 7_432, kube: 7_643, etcd: 7_479 });
    expect(plan.gateways[1]).toEqual({ door: 7_543, link: 7_544, relay: 7_545, health: 7_546, connect: 7_547 });
    for (const demo of ['plain', 'gitops'] as const) {
      const all = portUses(plan, ['a', 'b', 'c'], demo, true).map(([port]) => port);
      expect(new Set(all).size).toBe(all.length);
    }
  });

  it('keeps the free ports it found', async () => {
    await using scratch = await scratchDir();
    const plan = await planPorts(0, 2, scratch.file('ports.json'));
    expect(await planPorts(0, 2, scratch.file('ports.json'))).toEqual(plan);
    expect(existsSync(scratch.file('ports.json'))).toBe(true);
    expect(JSON.parse(readFileSync(scratch.file('ports.json'), 'utf8'))).toEqual(plan);
  });

  it('adds what a plan of an older version lacks, and keeps it', async () => {
    await using scratch = await scratchDir();
    const file = scratch.file('ports.json');
    const plan = await planPorts(0, 2, file);
    const gateways = plan.gateways.map(({ connect: _connect, ...older }) => older);
    writeFileSync(file, JSON.stringify({ ...plan, gateways }));
    const again = await planPorts(0, 2, file);
    expect(again.gateways).toEqual(gateways.map((older) => ({ ...older, connect: expect.any(Number) as number })));
    expect(await planPorts(0, 2, file)).toEqual(again);
  });

  it('refuses a base that leaves no room', async () => {
    await expect(planPorts(65_000, 2, '/nowhere')).rejects.toThrow('between 1024 and 64000');
  });
});

describe('requireFree', () => {
  it('names the port and who needs it', async () => {
    const server = createServer();
    // Not one that the kernel chose: somebody's outgoing connection may have that a moment later.
    const port = await freePort();
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    await expect(requireFree([[port, 'nats']], 0)).rejects.toThrow(new PortInUseError(port, 'nats'));
    setTimeout(() => server.close(), 150);
    await requireFree([[port, 'nats']], 20_000);
  });
});
