import { defineConfig } from 'vitest/config';

const source = {
  resolve: { conditions: ['fairlead-source'] },
  ssr: { resolve: { conditions: ['fairlead-source', 'node'] } },
};
const ignored = ['**/node_modules/**', '**/dist/**'];

/** Tests with real components mostly wait, on ports and in folders of their own. With more at once they wait for each other. */
const FILES_AT_ONCE = 2;

// Three tiers: unit (no process, no socket beyond loopback), integration (real Postgres, NATS, Kubernetes), e2e (real processes).
export default defineConfig({
  test: {
    projects: [
      {
        ...source,
        test: {
          name: 'unit',
          include: ['{libs,apps,tools,bench}/**/*.spec.ts'],
          exclude: [...ignored, '**/*.int.spec.ts'],
          // Property tests on a machine that is busy with something else.
          testTimeout: 30_000,
        },
      },
      {
        ...source,
        test: {
          name: 'integration',
          include: ['{libs,apps,tools,bench}/**/*.int.spec.ts'],
          exclude: [...ignored, '**/docker.int.spec.ts'],
          // Several times what a test takes on a busy machine: what a test waits for has a deadline of its own, which says more.
          testTimeout: 180_000,
          hookTimeout: 1_800_000,
          maxWorkers: FILES_AT_ONCE,
        },
      },
      {
        ...source,
        test: {
          name: 'docker',
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
          include: ['e2e/**/*.e2e.ts'],
          exclude: ignored,
          testTimeout: 300_000,
          hookTimeout: 1_800_000,
          maxWorkers: FILES_AT_ONCE,
        },
      },
    ],
  },
});
