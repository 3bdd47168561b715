// What all commands of tests share: run a step, count what passed and failed, close with one line.
import { spawn } from 'node:child_process';
import { Session, type FileResult, type Measure } from './session.js';
import type { Project } from './tiers.js';

export const totals = { passed: 0, failed: 0 };
/** What failed, a line or a few each: said again before the closing line, as a log of CI is mostly read from its end. */
const failures: string[] = [];

export function failed(what: string, count = 1): void {
  totals.failed += count;
  failures.push(what);
}

/** Runs a command with its output shown; resolves with its exit code. */
export function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...env } });
    child.once('error', (error) => {
      console.error(String(error));
      resolve(127);
    });
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

export function heading(text: string): void {
  console.log(`\n── ${text} ${'─'.repeat(Math.max(0, 100 - text.length))}`);
}

/** One command that counts as one test, beside other steps: its output comes at once when it has ended. True if it did well. */
export async function checkBeside(name: string, command: string, args: readonly string[]): Promise<boolean> {
  const started = performance.now();
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => output.push(data));
  const code = await new Promise<number>((resolve) => {
    child.once('error', (error) => {
      output.push(Buffer.from(String(error)));
      resolve(127);
    });
    child.once('close', (code) => resolve(code ?? 1));
  });
  heading(name);
  process.stdout.write(Buffer.concat(output));
  if (code === 0) totals.passed += 1;
  else failed(`${name}: exit code ${code}\n${Buffer.concat(output).toString().slice(-4_000)}`);
  console.log(`${code === 0 ? 'ok' : 'FAILED'}: ${name}, ${((performance.now() - started) / 1000).toFixed(1)} s`);
  return code === 0;
}

export interface VitestRun {
  readonly projects: readonly (Project | 'docker')[];
  /** Every one of them must say how it went; absent: whatever files the projects have. */
  readonly files?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface VitestOutcome {
  readonly results: readonly FileResult[];
  readonly measures: readonly Measure[];
  /** Those that passed whole: nothing failed, nothing was skipped. */
  readonly green: readonly string[];
}

/** Vitest once. A skipped test counts as failed: nothing real may be skipped. So does a file that did not say how it went. */
export async function vitest(session: Session, { projects, files = [], env = {} }: VitestRun): Promise<VitestOutcome> {
  heading(`${projects.join(' and ')} tests${files.length > 0 ? `, ${files.length} files` : ''}`);
  const [resultsBefore, measuresBefore, errorsBefore] = [session.results(), session.measures(), session.errors()];
  const reporters = ['--reporter=default', `--reporter=${import.meta.dirname}/reporter.ts`];
  const chosen = projects.flatMap((project) => ['--project', project]);
  const code = await run('vitest', ['run', ...chosen, ...reporters, ...files], { ...session.environment, ...env });
  const results = session.results().slice(resultsBefore.length);
  const errors = session.errors().slice(errorsBefore.length);
  const before = totals.failed;
  for (const result of results) count(result);
  const told = new Set(results.map(({ path }) => path));
  for (const file of files)
    if (!told.has(file)) failed(`${file}: its process ended before it said how it went; see above`);
  for (const error of errors) failed(`an error outside any test:\n${error}`);
  if (results.length === 0) failed(`${projects.join(' and ')}: vitest found no test`);
  // Something failed that none of these names.
  if (code !== 0 && totals.failed === before)
    failed(`${projects.join(' and ')}: vitest ended with code ${code}; see above`);
  const green = results
    .filter((result) => result.failures.length === 0 && result.skipped === 0)
    .map(({ path }) => path);
  return { results, measures: session.measures().slice(measuresBefore.length), green };
}

function count({ path, passed, skipped, failures: broken }: FileResult): void {
  totals.passed += passed;
  if (skipped > 0) failed(`${path}: ${skipped} tests were skipped: each counts as failed`, skipped);
  for (const what of broken) failed(what);
}

/** The closing line, which tools read; the exit code says the same. */
export function close(): void {
  if (failures.length > 0) heading('what failed');
  for (const what of failures) console.log(what);
  console.log(`\n${totals.passed} passed, ${totals.failed} failed`);
  process.exitCode = totals.failed === 0 && totals.passed > 0 ? 0 : 1;
}
