import { once } from 'node:events';
import type { Kubectl } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { SOON_MS, type StreamProtocol } from '../support/pod-streams.js';
import { resize } from '../support/terminal.js';
import { watchProcess } from '../support/watching.js';

export interface InContainers {
  readonly kubectl: Kubectl;
  /** The same in a terminal. */
  readonly terminal: Kubectl;
  /** Unlike that of any other `itReachesContainers`: names a container. */
  readonly way: string;
}

/** What only a container shows: a terminal, and a container beside another. */
export function itReachesContainers(protocol: StreamProtocol, of: () => InContainers): void {
  it('a shell has a terminal, which changes its size with the one outside, and its exit code comes back', async () => {
    const terminal = of().terminal.start(['exec', '-it', 'shell', '--', 'sh']);
    await using session = watchProcess(terminal);
    const exit = once(terminal, 'exit');
    terminal.stdin.write('test -t 0 && echo "a terminal"\n');
    await session.line(/^a terminal$/, SOON_MS);
    for (const [rows, columns] of [
      [40, 100],
      [33, 77],
    ] as const) {
      await resize(terminal, { rows, columns });
      // Whoever asks at once may be earlier than the news.
      await eventually(() => {
        terminal.stdin.write('stty size\n');
        return session.line(new RegExp(`^${rows} ${columns}$`), 1_000);
      });
    }
    terminal.stdin.write('exit 9\n');
    expect(await exit).toEqual([9, null]);
  });

  it('a container that is added for debugging sees the processes of the one it is for', async () => {
    const name = `debug-${of().way}-${protocol}`.toLowerCase();
    // It stays until its input ends: the last line of a container that ended at once is not what this is about.
    const script = 'read word; echo "got $word"; tr "\\0" " " < /proc/1/cmdline; echo; read more; exit 0';
    const added = ['--image=shell:1', '--image-pull-policy=Never', '--target=main', `--container=${name}`];
    const command = of().kubectl.start(['debug', '-i', 'shell', ...added, '--', 'sh', '-c', script]);
    await using watch = watchProcess(command);
    command.stdin.write('hello\n');
    await watch.line(/^got hello$/, SOON_MS);
    await watch.line(/sleep 10000/, SOON_MS);
    command.stdin.end();
    await watch.ended(SOON_MS);
    expect(command.exitCode).toBe(0);
  });
}
