import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import {
  noteSigner,
  openCheckpoint,
  parseVerifierKey,
  signCheckpoint,
  verifierKey,
  type OpenedCheckpoint,
} from '@fairlead/transparency-log';
import { LogInMemory, entries } from '@fairlead/transparency-log/testing';
import { describe, expect, it } from 'vitest';
import { Lineage, type PresentLog } from './lineage.js';
import type { LogStatement } from './log-statements.js';

const key = generateKeyPairSync('ed25519').privateKey;
const ORIGIN = 'fairlead.test/audit/shop';

async function sign({ edge, root }: LogInMemory, origin: string, by: KeyObject = key): Promise<string> {
  return (await signCheckpoint({ origin, size: edge.size, root }, [noteSigner(origin, by)])).toString('utf8');
}

async function opened(log: LogInMemory, origin: string): Promise<OpenedCheckpoint> {
  const verifier = parseVerifierKey(verifierKey(origin, 'ed25519', key));
  return openCheckpoint(Buffer.from(await sign(log, origin)), origin, [verifier]);
}

/** 10 entries were signed, then 17; the database was set back to 12, got two others, and began anew with entry 15. */
const before = () => new LogInMemory().append(entries(0, 10));
const lost = () => before().append(entries(10, 17));
const anew = () =>
  before()
    .append(entries(10, 12))
    .append(entries(12, 14, 'other'))
    .append(entries(14, 20, 'new'));

async function linked(said: Partial<Extract<LogStatement, { statement: 'begun-anew' }>> = {}): Promise<LogStatement> {
  const last = {
    origin: ORIGIN,
    size: 17,
    verifierKey: verifierKey(ORIGIN, 'ed25519', key),
    checkpoint: await sign(lost(), ORIGIN),
  };
  return { statement: 'begun-anew', number: 15, incarnation: 2, kept: 14, signed: 10, last, by: 'dana', ...said };
}

async function present(statements: readonly LogStatement[], log = anew()): Promise<PresentLog> {
  const checkpoint = await opened(log, `${ORIGIN}/2`);
  const ofKey = verifierKey(`${ORIGIN}/2`, 'ed25519', key);
  return { tiles: log, checkpoint, incarnation: 2, verifierKey: ofKey, statements, erased: 0 };
}

async function lineage(log = anew()): Promise<Lineage> {
  const found = Lineage.of(await present([await linked()], log));
  if (typeof found === 'string') throw new Error(found);
  return found;
}

describe('a log that began anew', () => {
  it('names the one before, and goes on from all of it that is left', async () => {
    const found = await lineage();
    expect(found.earlier).toEqual([{ origin: ORIGIN, signed: 17, kept: 10 }]);
    expect(await found.hold(await opened(before(), ORIGIN))).toBe(0);
    // What was left and not signed yet, as far as the audit service knew.
    expect(await found.hold(await opened(before().append(entries(10, 12)), ORIGIN))).toBe(0);
  });

  it('says how many entries may be gone', async () => {
    const found = await lineage();
    expect(await found.hold(await opened(lost(), ORIGIN))).toBe(7);
    expect(await found.hold(await opened(before().append(entries(10, 14)), ORIGIN))).toBe(4);
  });

  it('hides nothing that was rewritten before', async () => {
    const rewritten = new LogInMemory().append(entries(0, 5)).append(entries(5, 20, 'other'));
    const found = await lineage(rewritten);
    expect(await found.hold(await opened(before(), ORIGIN))).toMatch(/^entry 1 to 10: at least one was rewritten/);
  });

  it('does not go on from what was never the end of the one before, nor from another log', async () => {
    const found = await lineage();
    const longer = before().append(entries(10, 18));
    expect(await found.hold(await opened(longer, ORIGIN))).toContain('ended with 17 entries');
    const fork = before().append(entries(10, 17, 'fork'));
    expect(await found.hold(await opened(fork, ORIGIN))).toContain('another tree of 17 was signed');
    expect(await found.hold(await opened(before(), 'fairlead.test/audit/bank'))).toContain('it is another log');
  });

  it.each<[string, () => Promise<LogStatement[]>, RegExp]>([
    ['says nothing of it', async () => [], /does not say of which/],
    ['says it elsewhere', async () => [await linked({ number: 16 })], /is not the next one/],
    [
      'names one of another key',
      async () => {
        const other = generateKeyPairSync('ed25519').privateKey;
        const checkpoint = await sign(lost(), ORIGIN, other);
        const last = { origin: ORIGIN, size: 17, verifierKey: verifierKey(ORIGIN, 'ed25519', other), checkpoint };
        return [await linked({ last })];
      },
      /another key had signed/,
    ],
    [
      'says another size of it',
      async () => {
        const said = (await linked()) as Extract<LogStatement, { statement: 'begun-anew' }>;
        return [{ ...said, last: { ...said.last, size: 12 } }];
      },
      /a checkpoint that is of 17/,
    ],
  ])('is refused where it %s', async (_, statements, why) => {
    expect(Lineage.of(await present(await statements()))).toMatch(why);
  });
});
