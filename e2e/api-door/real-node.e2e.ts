// @tier full: needs root, Debian's packages and a real node; `streams` shows each way and each protocol on the test kubelet
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { get } from 'node:https';
import { createInterface } from 'node:readline';
import { LONGEST_NODE_MS } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SOON_MS, STREAM_PROTOCOLS } from '../support/pod-streams.js';
import { resize } from '../support/terminal.js';
import { adminToken, whoHoldsTheLink } from '../support/test-stack.js';
import { watchProcess } from '../support/watching.js';
import { describeBulk } from './bulk-stories.js';
import { describeDeaths } from './death-stories.js';
import { describeStreams, startRealStreamingWorld, terminalsOf, type StreamingWorld, type Via } from './world.js';

const START_MS = 300_000;
/** There may be another real node on this machine first. */
const START_AFTER_ANOTHER_MS = START_MS + LONGEST_NODE_MS;
const [FOLLOWERS, TICKS] = [200, 20];

let world: StreamingWorld;
let terminals: StreamingWorld['kubectls'];
beforeAll(async () => {
  world = await startRealStreamingWorld();
  terminals = await terminalsOf(world);
}, START_AFTER_ANOTHER_MS);
afterAll(() => world?.[Symbol.asyncDispose](), START_MS);

describeStreams(
  [
    ['own', 'WebSocket'],
    ['own', 'SPDY'],
    ['relay', 'WebSocket'],
    ['relay', 'SPDY'],
  ],
  () => world,
);

describe.each<Via>(['own', 'relay'])('in a real container, through the replica whose way is %s', (via) => {
  describe.each(STREAM_PROTOCOLS)('by %s', (protocol) => {
    it('a shell has a terminal, which changes its size with the one outside, and its exit code comes back', async () => {
      const terminal = terminals[via][protocol].start(['exec', '-it', 'shell', '--', 'sh']);
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
      const name = `debug-${via}-${protocol}`.toLowerCase();
      const script = 'read word; echo "got $word"; tr "\\0" " " < /proc/1/cmdline; echo';
      const added = ['--image=shell:1', '--image-pull-policy=Never', '--target=main', `--container=${name}`];
      const command = world.kubectls[via][protocol].start(['debug', '-i', 'shell', ...added, '--', 'sh', '-c', script]);
      await using watch = watchProcess(command);
      command.stdin.write('hello\n');
      await watch.line(/^got hello$/, SOON_MS);
      await watch.line(/sleep 10000/, SOON_MS);
      command.stdin.end();
      await watch.ended(SOON_MS);
      expect(command.exitCode).toBe(0);
    });
  });

  it(`${FOLLOWERS} follow a log at once, and miss nothing`, { timeout: START_MS }, async () => {
    const { holder, other } = await whoHoldsTheLink(world.stack);
    const replica = via === 'own' ? holder : other;
    const { doorUrl = '' } = world.stack.gateways.find(({ name }) => name === replica) ?? {};
    const access = { ca: await readFile(world.stack.api.caFile, 'utf8'), token: await adminToken(world.stack) };
    const everybody = Promise.withResolvers<void>();
    let reading = 0;
    const begun = (): Promise<void> => {
      if (++reading === FOLLOWERS) everybody.resolve();
      return everybody.promise;
    };
    const followers = Array.from({ length: FOLLOWERS }, () => follow(doorUrl, access, begun));
    const gaps = (await Promise.all(followers)).flatMap((ticks) =>
      ticks.filter((tick, index) => index > 0 && tick !== ticks[index - 1]! + 1),
    );
    expect(gaps).toEqual([]);
  });
});

interface Access {
  readonly ca: string;
  readonly token: string;
}

/** The ticks that `logs -f` gave: some before everybody has begun, and some after. Rejects if it ends earlier. */
function follow(doorUrl: string, { ca, token }: Access, begun: () => Promise<void>): Promise<number[]> {
  const url = `${doorUrl}/clusters/demo/api/v1/namespaces/default/pods/ticker/log?follow=true&tailLines=1`;
  const headers = { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const asking = get(url, { ca, headers, agent: false, signal: AbortSignal.timeout(START_MS) }, (answer) => {
      const ticks: number[] = [];
      let wanted = Infinity;
      answer.once('end', () => reject(new Error(`${answer.statusCode}, and it ended after ${ticks.length} lines`)));
      createInterface({ input: answer }).on('line', (line) => {
        ticks.push(Number(line.slice('tick '.length)));
        if (ticks.length === 1) void begun().then(() => (wanted = ticks.length + TICKS));
        if (ticks.length < wanted) return;
        resolve(ticks);
        answer.destroy();
      });
    });
    asking.once('error', reject);
  });
}

describeBulk(() => world);
// The last: `world.kubectls` knows who held the link at the start, and a death moves it.
describeDeaths(() => world);
