import { silentLogger } from '@fairlead/observability';
import { expect, it } from 'vitest';
import { DueRotations } from './schedule-keys.js';
import type { Runtime } from './runtime.js';

const due = [
  { id: 'a1', hostId: 'a' },
  { id: 'b1', hostId: 'b' },
  { id: 'a2', hostId: 'a' },
  { id: 'a3', hostId: 'a' },
  { id: 'b2', hostId: 'b' },
];

function scripted() {
  const time = { nowMs: 0 };
  const warned: unknown[] = [];
  const logger = {
    ...silentLogger,
    log: (level: string, _event: string, fields: { id?: unknown } = {}) =>
      void (level === 'warn' && warned.push(fields.id)),
  };
  const runtime = { logger, now: () => new Date(time.nowMs) } as unknown as Runtime;
  return { time, warned, rotations: new DueRotations(runtime) };
}

it('begins as many as each host has room for, those first that come first', async () => {
  const { rotations } = scripted();
  const asked: string[] = [];
  const begun = await rotations.begin(
    due,
    (hostId) => (hostId === 'a' ? 2 : 0),
    ({ id }) => Promise.resolve(asked.push(id) > 0),
  );
  expect([begun, asked]).toEqual([true, ['a1', 'a2']]);
});

it('takes no room for what came to nothing, or failed', async () => {
  const { rotations } = scripted();
  const asked: string[] = [];
  await rotations.begin(
    due,
    () => 1,
    ({ id }) => {
      asked.push(id);
      return id === 'a2' ? Promise.reject(new Error('a surprise')) : Promise.resolve(id !== 'a1');
    },
  );
  expect(asked).toEqual(['a1', 'b1', 'a2', 'a3']);
});

it('tries what fails after growing pauses and tells it once, whatever hosts there are besides', async () => {
  const { time, warned, rotations } = scripted();
  const tries: number[] = [];
  for (time.nowMs = 0; time.nowMs < 100_000; time.nowMs += 500) {
    await rotations.begin(
      due,
      () => 1,
      ({ id }) => {
        if (id === 'a1') tries.push(time.nowMs);
        return id === 'a1' ? Promise.reject(new Error('a surprise')) : Promise.resolve(true);
      },
    );
  }
  expect(warned).toEqual(['a1']);
  expect(tries.length).toBeGreaterThan(1);
  expect(tries.length).toBeLessThan(50);
});
