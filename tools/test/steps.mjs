// What `npm test` and `npm run e2e` share: run a step, count what passed and failed, close with one line.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

export const totals = { passed: 0, failed: 0 };
/** What failed, a line or a few each: said again before the closing line, as a log of CI is mostly read from its end. */
const failures = [];

function failed(what, count = 1) {
  totals.failed += count;
  failures.push(what);
}

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
  if (code === 0) totals.passed += 1;
  else failed(`${name}: exit code ${code}`);
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
    const { numPassedTests, numPendingTests, numTodoTests, testResults } = JSON.parse(readFileSync(report, 'utf8'));
    totals.passed += numPassedTests;
    const skipped = numPendingTests + numTodoTests;
    if (skipped > 0) failed(`${skipped} tests were skipped in ${project}: each counts as failed`, skipped);
    const told = testResults.flatMap(failuresOfFile);
    for (const what of told) failed(what);
    // An error outside any test fails the run without failing a test or a file.
    if (code !== 0 && told.length === 0) failed(`${project}: an error outside any test; see above`);
  } catch (error) {
    failed(`the ${project} run left no report: ${String(error)}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The failed tests of one file of vitest's report; a file that does not load has failed without a test that did. */
function failuresOfFile({ name, status, message, assertionResults }) {
  const file = relative(process.cwd(), name);
  const tests = assertionResults.filter((test) => test.status === 'failed');
  if (tests.length === 0 && status === 'failed') return [`${file}: ${shortened(message)}`];
  return tests.map((test) => `${file} > ${test.fullName}\n${shortened(test.failureMessages.join('\n'))}`);
}

/** Enough of a failure to know it by: its message, and where in the test it came from. */
function shortened(message) {
  const lines = message.split('\n').filter((line) => !line.includes('node_modules'));
  return lines
    .slice(0, 25)
    .map((line) => `    ${line.slice(0, 400)}`)
    .join('\n');
}

/** The closing line, which tools read; the exit code says the same. */
export function close() {
  if (failures.length > 0) heading('what failed');
  for (const what of failures) console.log(what);
  console.log(`\n${totals.passed} passed, ${totals.failed} failed`);
  process.exitCode = totals.failed === 0 && totals.passed > 0 ? 0 : 1;
}
