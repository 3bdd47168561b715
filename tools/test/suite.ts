// Integration and e2e tests of chosen files, with the components they need beside.
import { fetchComponents } from './components.js';
import type { Measure, Session } from './session.js';
import { failed, vitest, type VitestOutcome } from './steps.js';
import { mergeTimings, neededBy, readTimings, writeTimings } from './timings.js';
import { testFiles } from './tiers.js';

export interface SuiteOutcome extends VitestOutcome {
  /** What getting components took. */
  readonly fetchCpuS: number;
}

/** Runs what was begun; `env` is added to vitest's environment. */
export type RunFiles = (env?: Readonly<Record<string, string>>) => Promise<SuiteOutcome>;

/** Begins to get what the files need. */
export function begin(files: readonly string[], session: Session): RunFiles {
  const fetch = fetchComponents(neededBy(files, readTimings()), session);
  return async (env = {}) => {
    const outcome = await vitest(session, { projects: ['integration', 'e2e'], files, env });
    const fetchCpuS = await fetch.done;
    const measures = outcome.measures.filter(({ path }) => files.includes(path));
    tellUnknownNeeds(measures);
    return { ...outcome, measures, fetchCpuS };
  };
}

/**
 * A file that needs more than its line in timings.json says begins before that is built: in a cold run it builds it itself, and others
 * wait. That fails the run. A file without a line is only told.
 */
function tellUnknownNeeds(measures: readonly Measure[]): void {
  if (process.argv.includes('--save-timings')) return;
  const timings = readTimings();
  for (const { path, needs } of measures) {
    const timing = timings[path];
    const more = needs.filter((name) => !timing?.needs.includes(name));
    if (!timing)
      console.log(`${path} has no line in tools/test/timings.json: npm run test:files -- --save-timings ${path}`);
    else if (more.length > 0) failed(`${path} needs ${more.join(', ')}: add it to its line in tools/test/timings.json`);
  }
}

/** Takes over what was measured into tools/test/timings.json. */
export function saveTimings({ measures }: VitestOutcome): void {
  const measured = Object.fromEntries(measures.map(({ path, ...timing }) => [path, timing]));
  writeTimings(
    mergeTimings(
      readTimings(),
      measured,
      testFiles().map(({ path }) => path),
    ),
  );
}
