import { eventually } from '@fairlead/testing';
import { describe, expect, it } from 'vitest';
import { succeeds } from '../support/kubectl-streams.js';
import { STREAM_PROTOCOLS, streamingKubectls, type StreamProtocol } from '../support/pod-streams.js';
import { whoHoldsTheLink } from '../support/test-stack.js';
import { talkByExec, talkByForward, type Talk } from './talk.js';
import type { StreamingWorld } from './world.js';

/** Of each kind one, through one replica. */
interface Talks {
  readonly exec: Talk;
  readonly forward: Talk;
}

/** What becomes of exec and port-forward when something on their way dies or freezes. The link moves meanwhile: other stories come before. */
export function describeDeaths(of: () => StreamingWorld): void {
  describe.each(STREAM_PROTOCOLS)('of streams by %s', (protocol) => {
    it('all end, and are told so, when the replica that holds the link is killed', async () => {
      const { stack } = of();
      await using talks = new TalksOf(of(), protocol);
      const { holder, other, own, relayed } = await talks.throughBoth();
      stack.process(holder).kill('SIGKILL');
      for (const each of [own, relayed]) expect(await endOf(each)).toEqual(told(protocol));
      await isBackAt(of(), other, protocol);
      await stack.process(holder).restart();
      await everybodyIsBack(of(), protocol);
    });

    it('those through the other replica end when that is killed, and the others go on', async () => {
      const { stack } = of();
      await using talks = new TalksOf(of(), protocol);
      const { other, own, relayed } = await talks.throughBoth();
      stack.process(other).kill('SIGKILL');
      expect(await endOf(relayed)).toEqual(told(protocol));
      await expect(goOn(own)).resolves.toBeUndefined();
      await stack.process(other).restart();
      await expect(goOn(own)).resolves.toBeUndefined();
      await everybodyIsBack(of(), protocol);
    });

    it('all go on while NATS is away, and new ones begin', async () => {
      const { stack } = of();
      await using talks = new TalksOf(of(), protocol);
      const { holder, other, own, relayed } = await talks.throughBoth();
      const nats = stack.process('nats');
      nats.kill('SIGKILL');
      await nats.exited;
      const meanwhile = [await talks.through(holder), await talks.through(other)];
      await expect(goOn(own, relayed, ...meanwhile)).resolves.toBeUndefined();
      await nats.restart();
      await everybodyIsBack(of(), protocol);
      await expect(goOn(own, relayed, ...meanwhile)).resolves.toBeUndefined();
    });

    it('all end, and are told so, when the agent is killed', async () => {
      await using talks = new TalksOf(of(), protocol);
      const { own, relayed } = await talks.throughBoth();
      const agent = of().stack.process(AGENT);
      agent.kill('SIGKILL');
      for (const each of [own, relayed]) expect(await endOf(each)).toEqual(told(protocol));
      await agent.restart();
      await everybodyIsBack(of(), protocol);
    });

    it('all end, and are told so, when the agent is frozen for longer than its link may be silent', async () => {
      await using talks = new TalksOf(of(), protocol);
      const { own, relayed } = await talks.throughBoth();
      const agent = of().stack.process(AGENT);
      agent.kill('SIGSTOP');
      try {
        for (const each of [own, relayed]) expect(await endOf(each)).toEqual(told(protocol));
      } finally {
        agent.kill('SIGCONT');
      }
      await everybodyIsBack(of(), protocol);
    });
  });
}

const AGENT = 'agent-demo';
const BACK_MS = 90_000;

/** Begins talks; disposed of, it ends those that still go on. */
class TalksOf implements AsyncDisposable {
  readonly #begun = new AsyncDisposableStack();

  constructor(
    private readonly world: StreamingWorld,
    private readonly protocol: StreamProtocol,
  ) {}

  /** Through the replica that holds the link, and through the other. */
  async throughBoth(): Promise<{ holder: string; other: string; own: Talks; relayed: Talks }> {
    const { holder, other } = await whoHoldsTheLink(this.world.stack);
    return { holder, other, own: await this.through(holder), relayed: await this.through(other) };
  }

  async through(gateway: string): Promise<Talks> {
    const { kubeconfigPath, pods } = this.world;
    const { [this.protocol]: kubectl } = await streamingKubectls(kubeconfigPath, ['--context', `demo@${gateway}`]);
    const exec = this.#begun.use(await talkByExec(kubectl));
    const forward = this.#begun.use(await talkByForward(kubectl, pods.webPorts[0]));
    return { exec, forward };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#begun.disposeAsync();
  }
}

interface End {
  readonly codes: readonly [exec: number | null, forward: number | null];
  readonly execSaid: string;
  readonly forwardSaid: string;
}

/** Rejects if one hangs. */
async function endOf({ exec, forward }: Talks): Promise<End> {
  const ended = [await exec.ended(), await forward.ended()] as const;
  const [execSaid, forwardSaid] = [ended[0].lines.join('\n'), ended[1].lines.join('\n')];
  return { codes: [ended[0].code, ended[1].code], execSaid, forwardSaid };
}

/** By SPDY, client-go takes the end of a connection for the end of the command, whoever carries it, and says nothing of an error. */
const EXEC_TOLD = {
  WebSocket: { code: 1, says: /^error: /m },
  SPDY: { code: 0, says: /^word 1$/m },
} as const;

function told(protocol: StreamProtocol): unknown {
  const { code, says } = EXEC_TOLD[protocol];
  const forwardSaid: unknown = expect.stringContaining('error: lost connection to pod');
  return { codes: [code, 1], execSaid: expect.stringMatching(says) as unknown, forwardSaid };
}

async function goOn(...talks: readonly Talks[]): Promise<void> {
  for (const { exec, forward } of talks) {
    await exec.goesOn();
    await forward.goesOn();
  }
}

async function everybodyIsBack(world: StreamingWorld, protocol: StreamProtocol): Promise<void> {
  await whoHoldsTheLink(world.stack);
  for (const { name } of world.stack.gateways) await isBackAt(world, name, protocol);
}

/** Both kinds begin again. */
async function isBackAt(world: StreamingWorld, gateway: string, protocol: StreamProtocol): Promise<void> {
  const { [protocol]: kubectl } = await streamingKubectls(world.kubeconfigPath, ['--context', `demo@${gateway}`]);
  await eventually(() => succeeds(kubectl(['exec', 'shell', '-c', 'main', '--', 'true'])), { timeoutMs: BACK_MS });
  await using talks = new TalksOf(world, protocol);
  await talks.through(gateway);
}
