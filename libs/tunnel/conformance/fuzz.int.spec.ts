import { setTimeout as delay } from 'node:timers/promises';
import { FrameDecoder } from '@fairlead/tunnel/core';
import { TunnelConnection } from '@fairlead/tunnel/link';
import { OPEN, ScriptStream, sessionPair, type SessionPair } from '@fairlead/tunnel/testing';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stillWorks } from './gateway-peers.js';
import { gatewaySubject, type GatewaySubject } from './gateway-subject.js';
import { mutation } from './mutations.js';
import { FUZZ_RUNS, PROPERTY_RUNS } from './runs.js';
import { ScriptedAgent, controlMessage, hello, type LinkedAgent } from './scripted-agent.js';
import { TunnelScript } from './tunnel-script.js';
import { MALFORMED, data, eof, open, opened, refused, reset } from './wire.js';

const VALID = [open('c'), opened, refused('INTERNAL'), reset('DRAINING'), eof, data(''), data('x'.repeat(300))];
const CODES = [undefined, 'PROTOCOL_ERROR'];

/** What a peer may send: whole frames in any order, spoiled ones, plain noise, and all of these spoiled again. */
const stream = mutation([...VALID, ...Object.values(MALFORMED)]);

describe('the frame decoder', () => {
  it('takes any bytes in any pieces: yields no more than came, fails with PROTOCOL_ERROR alone, the same each time', () => {
    fc.assert(
      fc.property(stream, fc.integer({ min: 1, max: 300 }), (bytes, size) => {
        const whole = outcome(bytes, bytes.length);
        expect(CODES).toContain(whole.code);
        expect(whole.payload.length).toBeLessThanOrEqual(bytes.length);
        const pieces = outcome(bytes, size);
        expect(pieces.code).toBe(whole.code);
        expect(pieces.controls).toEqual(whole.controls);
        expect(pieces.payload.equals(whole.payload)).toBe(true);
      }),
      { numRuns: FUZZ_RUNS * 10 },
    );
  });
});

function outcome(bytes: Buffer, size: number): { code: string | undefined; payload: Buffer; controls: string[] } {
  const decoder = new FrameDecoder();
  const pieces: Buffer[] = [];
  const controls: string[] = [];
  let code: string | undefined;
  try {
    for (let at = 0; at < bytes.length; at += size) {
      decoder.push(bytes.subarray(at, at + size), {
        onData: (piece) => void pieces.push(piece),
        onControl: ({ case: kind }) => void controls.push(kind),
      });
    }
  } catch (error) {
    code = (error as { code?: string }).code ?? String(error);
  }
  return { code, controls, payload: Buffer.concat(pieces) };
}

describe('one tunnel of a session', () => {
  let pair: SessionPair;

  beforeAll(async () => {
    pair = await sessionPair();
  });

  afterAll(() => pair[Symbol.asyncDispose]());

  it.each(['opener', 'acceptor'] as const)('as %s survives any bytes, and so does its session', async (role) => {
    await fc.assert(
      fc.asyncProperty(stream, async (bytes) => {
        const ends = await pair.stream();
        const [mine, theirs] = role === 'opener' ? [ends.server, ends.client] : [ends.client, ends.server];
        const tunnel = new TunnelConnection(mine, role);
        const gone = new Promise<void>((resolve) => tunnel.once('close', resolve));
        tunnel.on('open', () => tunnel.accept());
        tunnel.resume();
        if (role === 'opener') tunnel.open(OPEN, AbortSignal.timeout(5_000)).catch(() => undefined);
        const script = new TunnelScript(new ScriptStream(theirs));
        script.end(bytes);
        tunnel.end();
        await gone;
        expect(tunnel.state.phase).toBe('closed');
      }),
      { numRuns: PROPERTY_RUNS },
    );
    const { opener } = await pair.opened();
    opener.destroy();
  });
});

describe('the gateway', () => {
  let subject: GatewaySubject;
  let link: LinkedAgent;

  beforeAll(async () => {
    subject = await gatewaySubject();
    link = await ScriptedAgent.linked(subject);
  });

  afterAll(async () => {
    await link?.[Symbol.asyncDispose]();
    await subject?.[Symbol.asyncDispose]();
  });

  it('survives any bytes on Control, and other links work on', async () => {
    const control = mutation([
      controlMessage(hello('c')),
      controlMessage({ case: 'facts', value: { agentVersion: 'x', platform: 'y' } }),
      ...Object.values(MALFORMED),
    ]);
    await fc.assert(
      fc.asyncProperty(control, async (bytes) => {
        await using unauthenticated = await ScriptedAgent.dial(subject);
        unauthenticated.control().stream.end(bytes);
        await delay(5);
      }),
      { numRuns: PROPERTY_RUNS },
    );
    await stillWorks(subject, link);
  });

  it('survives any bytes on a parked tunnel, and the link works on', async () => {
    await fc.assert(
      fc.asyncProperty(stream, async (bytes) => {
        const tunnel = link.agent.park();
        tunnel.end(bytes);
        await tunnel.gone();
      }),
      { numRuns: PROPERTY_RUNS },
    );
    await stillWorks(subject, link);
  });
});
