import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { ALL_FILES, scheduledPool } from './tools/test/pool.js';

const source = {
  resolve: { conditions: ['fairlead-source'] },
  ssr: { resolve: { conditions: ['fairlead-source', 'node'] } },
};
const ignored = ['**/node_modules/**', '**/dist/**'];

/** What a test polls for may take its time on a busy machine; vitest's own second is none. */
const PATIENT = { poll: { timeout: 30_000 } };

/** Unit tests compute all the time, so nothing runs beside them. */
const AFTER_UNIT = { groupOrder: 1 };

// Three tiers: unit (no process, no socket beyond loopback), integration (real Postgres, NATS, Kubernetes), e2e (real processes).
export default defineConfig({
  test: {
    projects: [
      {
        ...source,
        test: {
          name: 'unit',
          expect: PATIENT,
          include: ['{libs,apps,tools,bench,e2e}/**/*.spec.ts'],
          exclude: [...ignored, '**/*.int.spec.ts'],
          // A process for each core and one for what waits, which keep what they imported: a process for each file costs four times as much.
          pool: 'forks',
          isolate: false,
          maxWorkers: availableParallelism() + 1,
          // Property tests on a machine that is busy with something else.
          testTimeout: 120_000,
        },
      },
      {
        ...source,
        test: {
          name: 'integration',
          expect: PATIENT,
          include: ['{libs,apps,tools,bench}/**/*.int.spec.ts'],
          exclude: [...ignored, '**/docker.int.spec.ts'],
          // Several times what a test takes on a busy machine: what a test waits for has a deadline of its own, which says more.
          testTimeout: 180_000,
          hookTimeout: 1_800_000,
          pool: scheduledPool,
          maxWorkers: ALL_FILES,
          sequence: AFTER_UNIT,
        },
      },
      {
        ...source,
        test: {
          name: 'docker',
          expect: PATIENT,
          include: ['tools/**/docker.int.spec.ts'],
          exclude: ignored,
          testTimeout: 300_000,
          hookTimeout: 1_800_000,
          fileParallelism: false,
        },
      },
      {
        ...source,
        test: {
          name: 'e2e',
          expect: PATIENT,
          include: ['e2e/**/*.e2e.ts'],
          exclude: ignored,
          testTimeout: 300_000,
          hookTimeout: 1_800_000,
          pool: scheduledPool,
          maxWorkers: ALL_FILES,
          sequence: AFTER_UNIT,
        },
      },
    ],
  },
});
