import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const source = {
  resolve: { conditions: ['fairlead-source'] },
  ssr: { resolve: { conditions: ['fairlead-source', 'node'] } },
};
const ignored = ['**/node_modules/**', '**/dist/**'];

/** Tests with real components mostly wait, on ports and in folders of their own: two at once leave half of two cores idle. */
const FILES_AT_ONCE = 3;

/** Files that take more than a minute: begun last, one of them alone would keep everybody waiting. */
const LONG =
  /(installer\/(flux|story|repair)\.int|flux\/flux\.int|argocd|e2e\/gitops\/|chaos\/|short-lives|e2e\/trust\/rotation|npm-start)/;

class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => LONG.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

/** What a test polls for may take its time on a busy machine; vitest's own second is none. */
const PATIENT = { poll: { timeout: 30_000 } };

// Three tiers: unit (no process, no socket beyond loopback), integration (real Postgres, NATS, Kubernetes), e2e (real processes).
export default defineConfig({
  test: {
    sequence: { sequencer: LongFilesFirst },
    projects: [
      {
        ...source,
        test: {
          name: 'unit',
          expect: PATIENT,
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
          expect: PATIENT,
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
          maxWorkers: FILES_AT_ONCE,
        },
      },
    ],
  },
});
