// What `npm test` and `npm run e2e` share: run a step, count what passed and failed, close with one line.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const totals = { passed: 0, failed: 0 };

/** Runs a command with its output shown; resolves with its exit code. */
export function run(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'inherit' });
    child.once('error', (error) => {
      console.error(String(error));
      resolve(127);
    });
    child.once('exit', (code, signal) => resolve(signal ? 1 : code));
  });
}

export function heading(text) {
  console.log(`\n── ${text} ${'─'.repeat(Math.max(0, 100 - text.length))}`);
}

/** One command that counts as one test. */
export async function check(name, command, args) {
  heading(name);
  const started = performance.now();
  const code = await run(command, args);
  totals[code === 0 ? 'passed' : 'failed'] += 1;
  console.log(`${code === 0 ? 'ok' : 'FAILED'}: ${name}, ${((performance.now() - started) / 1000).toFixed(1)} s`);
  return code === 0;
}

/** One vitest project. A skipped test counts as failed: in these tiers nothing real may be skipped. */
export async function vitest(project, filters = []) {
  heading(`${project} tests ${filters.join(' ')}`);
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-test-'));
  const report = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const code = await run('vitest', ['run', '--project', project, ...reporters, ...filters]);
  try {
    const { numPassedTests, numFailedTests, numPendingTests, numTodoTests } = JSON.parse(readFileSync(report, 'utf8'));
    const skipped = numPendingTests + numTodoTests;
    if (skipped > 0) console.error(`${skipped} tests were skipped in ${project}: each counts as failed`);
    totals.passed += numPassedTests;
    totals.failed += numFailedTests + skipped;
    // A file that does not load, or an error outside any test, fails the run without failing a test.
    if (code !== 0 && numFailedTests === 0) totals.failed += 1;
  } catch {
    console.error(`the ${project} run left no report`);
    totals.failed += 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The closing line, which tools read; the exit code says the same. */
export function close() {
  console.log(`\n${totals.passed} passed, ${totals.failed} failed`);
  process.exitCode = totals.failed === 0 && totals.passed > 0 ? 0 : 1;
}
