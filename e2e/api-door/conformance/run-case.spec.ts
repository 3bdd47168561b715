import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CASES } from './cases.js';
import { runCase, type Outcome } from './run-case.js';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'fairlead-case-'));
});
afterEach(() => rmSync(home, { recursive: true }));

/** As if a script were upstream's program. */
function runs(script: string, signal = new AbortController().signal): Promise<Outcome> {
  const program = join(home, 'program');
  writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const to = { kubeconfig: '/the/kubeconfig', context: 'demo@gateway-a', kubectl: '/bin/kubectl' };
  return runCase('Pods [Slow] should run (twice)', {
    ...to,
    program,
    enter: ['env'],
    home,
    logPath: join(home, 'log'),
    signal,
  });
}

const summary = (ran: number, passed: number, failed = 0): string =>
  `echo 'Ran ${ran} of 7144 Specs in 1.2 seconds'; echo 'SUCCESS! -- ${passed} Passed | ${failed} Failed | 0 Pending | 7143 Skipped'`;

it('a case has passed when it is the one that ran, and succeeded', async () => {
  const { passed, said, log } = await runs(`printf '%s\\n' "$@"; ${summary(1, 1)}`);
  expect({ passed, said }).toEqual({ passed: true, said: expect.stringMatching(/^passed in \d+ s$/) });
  expect(log.split('\n')).toEqual(
    expect.arrayContaining([
      '--kubeconfig=/the/kubeconfig',
      '--context=demo@gateway-a',
      String.raw`--ginkgo.focus=Pods \[Slow\] should run \(twice\)$`,
    ]),
  );
});

it('a case that is not there, is skipped or fails has not', async () => {
  expect(await runs(summary(0, 0))).toMatchObject({ passed: false });
  expect(await runs(summary(2, 2))).toMatchObject({ passed: false });
  expect(await runs(`${summary(1, 1)}; exit 1`)).toMatchObject({ passed: false });
  const failing = await runs(`echo '  [FAILED] no such pod'; ${summary(1, 0, 1)}; exit 1`);
  expect(failing).toMatchObject({ passed: false, said: expect.stringMatching(/^no such pod \(\d+ s\)$/) });
});

it('what is broken off ends, with all that it started', async () => {
  const controller = new AbortController();
  // Whatever still holds its output keeps it from ending.
  const running = runs('sleep 1000 & sleep 1000', controller.signal);
  setTimeout(() => controller.abort(), 200);
  expect(await running).toMatchObject({ passed: false, said: expect.stringMatching(/^had to be killed/) });
});

it('there are sixty at most, and none twice', () => {
  const names = Object.values(CASES).flat();
  expect(names.length).toBeLessThanOrEqual(60);
  expect(new Set(names).size).toBe(names.length);
});
