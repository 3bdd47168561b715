// `npm test`: what every change has to pass. Static checks, unit tests, and the ordinary tier on real components and processes.
// `--save-timings` writes what the files took to timings.json; `--cpu-budget` fails when all of it took more than cpu-budget.json says.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MachineSpeed, RECORDED_MS, scaled } from './machine-speed.js';
import { minutes, slowest } from './measures.js';
import { cpuSecondsOf } from './processes.js';
import { Session } from './session.js';
import { checkBeside, close, failed, heading, run, totals, vitest } from './steps.js';
import { begin, saveTimings, type SuiteOutcome } from './suite.js';
import { testFiles, unitTestFiles } from './tiers.js';

const STATIC = ['lint', 'format', 'boundaries', 'drift'];
const nx = (...targets: string[]) => ['run-many', '-p', 'fairlead', '-t', ...targets];

const session = Session.create();
const started = performance.now();
const speed = new MachineSpeed();
try {
  const ordinary = testFiles().flatMap(({ path, tier }) => (tier === 'ordinary' ? [path] : []));
  const runFiles = begin(ordinary, session);
  // Unit tests run from source, so that the compiler, which takes one core, leaves none idle.
  const isCompiled = checkBeside('compile', 'nx', nx('compile'));
  // What was compiled is there. Where linting asks for it once more, Nx puts it back from its cache, and for a moment tests miss it.
  const checks = [...nx(...STATIC), '--excludeTaskDependencies'];
  const isStaticDone = isCompiled.then((ok) => ok && checkBeside(STATIC.join(', '), 'nx', checks));
  await vitest(session, { projects: ['unit'], files: unitTestFiles() });
  if (await isCompiled) {
    const outcome = await runFiles();
    await isStaticDone;
    await docker();
    if (process.argv.includes('--save-timings')) saveTimings(outcome);
    tellCost(outcome);
  }
} finally {
  session.remove();
}
close();

interface Budget {
  /** On a machine on which the work of machine-speed.ts takes `RECORDED_MS` of CPU time beside the tests. */
  readonly seconds: number;
}

/** The Docker providers need an engine. Without one nothing else is lost: the last provider builds what they would run. */
async function docker(): Promise<void> {
  const hasEngine =
    (process.env.DOCKER_HOST !== undefined || existsSync('/var/run/docker.sock')) &&
    (await run('docker', ['info', '--format', '{{.ServerVersion}}'])) === 0;
  if (hasEngine) await vitest(session, { projects: ['docker'] });
  else console.log('\nno Docker engine here: the tests of the Docker providers are left out');
}

function tellCost({ measures, fetchCpuS }: SuiteOutcome): void {
  heading('what it took');
  console.log(slowest(measures));
  const cpuS = Math.round(cpuSecondsOf(process.pid) - fetchCpuS);
  console.log(
    `\n${minutes((performance.now() - started) / 1000)}, ${cpuS} CPU seconds; getting components took ${Math.round(fetchCpuS)} more`,
  );
  if (!process.argv.includes('--cpu-budget') || process.platform !== 'linux') return;
  const budget = JSON.parse(readFileSync(join(import.meta.dirname, 'cpu-budget.json'), 'utf8')) as Budget;
  const tookMs = speed.end();
  const seconds = scaled(budget.seconds, tookMs, RECORDED_MS);
  console.log(
    `what takes ${RECORDED_MS} ms where the budget was made took ${Math.round(tookMs)} here: ${seconds} CPU seconds may be used`,
  );
  if (cpuS <= seconds) totals.passed += 1;
  else
    failed(
      `npm test used ${cpuS} CPU seconds; the budget in tools/test/cpu-budget.json comes to ${seconds} here. Make tests cheaper, or move ` +
        'what another test shows to the full tier; a new story may be worth a greater budget.',
    );
}
