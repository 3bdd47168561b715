// Writes what vitest says of each file as soon as it is known: what a run that is broken off has found out stays.
import { relative } from 'node:path';
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node';
import { Session } from './session.js';

export default class SessionReporter implements Reporter {
  readonly #session = Session.fromEnvironment()!;

  onTestModuleEnd(module: TestModule): void {
    const tests = [...module.children.allTests()];
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    const path = relative(process.cwd(), module.moduleId);
    this.#session.addResult({
      path,
      project: module.project.name,
      passed: count('passed'),
      skipped: count('skipped') + count('pending'),
      failures: [
        ...brokenFile(module, path),
        ...brokenSuites(module, path),
        ...tests.flatMap((test) => brokenTest(test, path)),
      ],
    });
  }

  onTestRunEnd(_modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    for (const error of errors) this.#session.addError(shortened([error]));
  }
}

function brokenFile(module: TestModule, path: string): string[] {
  const errors = module.errors();
  return errors.length > 0 ? [`${path}\n${shortened(errors)}`] : [];
}

function brokenSuites(module: TestModule, path: string): string[] {
  const broken = [...module.children.allSuites()].filter((suite) => suite.errors().length > 0);
  return broken.map((suite) => `${path} > ${suite.fullName}\n${shortened(suite.errors())}`);
}

function brokenTest(test: TestCase, path: string): string[] {
  const result = test.result();
  return result.state === 'failed' ? [`${path} > ${test.fullName}\n${shortened(result.errors)}`] : [];
}

/** Enough of a failure to know it by: its message, and where in the test it came from. */
function shortened(errors: readonly SerializedError[]): string {
  const lines = errors.flatMap(({ stack, message, cause }) => [
    ...(stack ?? message).split('\n'),
    ...(cause ? [`caused by ${cause.message}`] : []),
  ]);
  return lines
    .filter((line) => !line.includes('node_modules'))
    .slice(0, 25)
    .map((line) => `    ${line.slice(0, 400)}`)
    .join('\n');
}
