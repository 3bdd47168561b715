import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';

/** A process whose run leaves something behind that fails, in its own time. */
const script = (failure: string): string => `
  import { runProcess } from ${JSON.stringify(new URL('./dist/index.js', import.meta.url).href)};
  await runProcess({
    name: 'fails',
    readConfig: () => ({ FAIRLEAD_LOG_LEVEL: 'info' }),
    run: () => new Promise((resolve) => { ${failure}; setTimeout(resolve, 30_000); }),
  });`;

it.each([
  ['unhandledRejection', `void Promise.reject(new Error('nobody waits for this'))`],
  ['uncaughtException', `setTimeout(() => { throw new Error('nobody waits for this'); }, 1)`],
])('a process ends with one line of its log that says why, and exit code 1 (%s)', async (origin, failure) => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script(failure)], {
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 60_000,
  });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  const lines = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(code).toBe(1);
  // Their times say which came first: on a busy machine the last words are written at once, and may overtake.
  expect(new Set(lines.map(({ event }) => event))).toEqual(new Set(['process.starting', 'process.crashed']));
  expect(lines.find(({ event }) => event === 'process.crashed')).toMatchObject({
    level: 'error',
    service: 'fails',
    origin,
    reason: 'nobody waits for this',
  });
});
