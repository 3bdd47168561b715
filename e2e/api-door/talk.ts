import { randomBytes } from 'node:crypto';
import type { Kubectl } from '@fairlead/testbed';
import { SOON_MS } from '../support/pod-streams.js';
import { sha256 } from '../support/kubectl-streams.js';
import { watchProcess } from '../support/watching.js';

/** How a kubectl ended, and what it had said. */
export interface Ended {
  readonly code: number | null;
  readonly lines: readonly string[];
}

/** A stream into a pod that goes on. Disposed of, its kubectl is killed if it still runs. */
export interface Talk extends AsyncDisposable {
  /** There and back; rejects if that takes longer than any machine is busy. */
  goesOn(): Promise<void>;
  /** Rejects if it hangs. */
  ended(): Promise<Ended>;
}

/** `exec -i` of a `cat`. */
export async function talkByExec(kubectl: Kubectl): Promise<Talk> {
  const command = kubectl.start(['exec', '-i', 'shell', '--', 'cat']);
  command.stdin.on('error', () => undefined);
  const watch = watchProcess(command);
  let words = 0;
  const talk: Talk = {
    goesOn: async () => {
      words += 1;
      command.stdin.write(`word ${words}\n`);
      await watch.line(new RegExp(`^word ${words}$`), SOON_MS);
    },
    ended: async () => {
      await watch.ended(SOON_MS);
      return { code: command.exitCode, lines: watch.lines };
    },
    [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose](),
  };
  await talk.goesOn();
  return talk;
}

/** `port-forward` to an echo over HTTP. */
export async function talkByForward(kubectl: Kubectl, webPort: number): Promise<Talk> {
  const command = kubectl.start(['port-forward', `pod/web-${webPort}`, `:${webPort}`]);
  const watch = watchProcess(command);
  const [local] = /127\.0\.0\.1:\d+/.exec(await watch.line(/Forwarding from 127/, SOON_MS)) ?? [];
  const talk: Talk = {
    goesOn: async () => {
      const body = randomBytes(10_000);
      const answer = await fetch(`http://${local}/`, { method: 'POST', body, signal: AbortSignal.timeout(SOON_MS) });
      if (sha256(await answer.bytes()) !== sha256(body)) throw new Error('something else came back');
    },
    ended: async () => {
      // It notices at the next connection at the latest.
      await talk.goesOn().catch(() => undefined);
      await watch.ended(SOON_MS);
      return { code: command.exitCode, lines: watch.lines };
    },
    [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose](),
  };
  await talk.goesOn();
  return talk;
}
