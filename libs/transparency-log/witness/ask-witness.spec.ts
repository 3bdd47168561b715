import { generateKeyPairSync } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { signCheckpoint } from '../checkpoint/checkpoint.js';
import { proveConsistency } from '../merkle/proofs.js';
import { cosigner, noteSigner, parseVerifierKey, verifierKey } from '../note/keys.js';
import { formatSignatures, signNote } from '../note/signed-note.js';
import { LogInMemory, entries, startTestWitness } from '../testing/index.js';
import { decodeAddCheckpoint, decodeSize, encodeAddCheckpoint } from './add-checkpoint.js';
import { addCheckpoint, addSignatures, cosignByWitness, type AskOptions, type Witness } from './ask-witness.js';
import { countingPolicy, verifyPolicy } from './policy.js';

const ORIGIN = 'fairlead.test/tenants/acme';
const options: AskOptions = { signal: new AbortController().signal, timeoutMs: 20_000 };
const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error;

const key = generateKeyPairSync('ed25519').privateKey;
const logs = new Map([[ORIGIN, [parseVerifierKey(verifierKey(ORIGIN, 'ed25519', key))]]]);
const sign = ({ edge, root }: LogInMemory, origin = ORIGIN, by = key) =>
  signCheckpoint({ origin, size: edge.size, root }, [noteSigner(origin, by)]);

describe('a witness', () => {
  it('cosigns a log as it grows, is told from where only once, and makes a quorum', async () => {
    await using witness = await startTestWitness({ logs });
    const log = new LogInMemory().append(entries(0, 300));
    const first = await sign(log);
    expect(await cosignByWitness(witness, { checkpoint: first, lastSize: 0, reader: log }, options)).toMatchObject({
      kind: 'cosigned',
    });
    const second = await sign(log.append(entries(300, 700)));
    // It is elsewhere than was thought: nobody remembered that it cosigned 300.
    const answer = await cosignByWitness(witness, { checkpoint: second, lastSize: 0, reader: log }, options);
    if (answer.kind !== 'cosigned') throw new Error(answer.kind);
    const cosigned = addSignatures(second, [answer.signature]);
    const policy = countingPolicy([witness.verifierKey], 1);
    expect(verifyPolicy(cosigned, policy).reached).toBe(true);
    expect(verifyPolicy(second, policy)).toMatchObject({ reached: false, missing: ['1'] });
    // Once more, later: the newer cosignature takes the place of the older one.
    const again = await cosignByWitness(witness, { checkpoint: cosigned, lastSize: 700, reader: log }, options);
    if (again.kind !== 'cosigned') throw new Error(again.kind);
    expect(addSignatures(cosigned, [again.signature]).toString().split('\n')).toHaveLength(7);
  });

  it('refuses a fork, and no quorum is reached for it', async () => {
    await using witness = await startTestWitness({ logs });
    const log = new LogInMemory().append(entries(0, 500));
    await cosignByWitness(witness, { checkpoint: await sign(log), lastSize: 0, reader: log }, options);
    for (const size of [500, 800]) {
      const fork = new LogInMemory().append(entries(0, 400)).append(entries(400, size, 'other'));
      const checkpoint = await sign(fork);
      const answer = await cosignByWitness(witness, { checkpoint, lastSize: 500, reader: fork }, options);
      expect(answer).toEqual({ kind: 'refused', why: 'fork', status: 422 });
      expect(verifyPolicy(checkpoint, countingPolicy([witness.verifierKey], 1)).reached).toBe(false);
    }
    expect(witness.latest.get(ORIGIN)).toMatchObject({ size: 500, root: log.root });
  });

  it('does not cosign a log that was set back', async () => {
    await using witness = await startTestWitness({ logs });
    const log = new LogInMemory().append(entries(0, 500));
    await cosignByWitness(witness, { checkpoint: await sign(log), lastSize: 0, reader: log }, options);
    const older = new LogInMemory().append(entries(0, 400));
    const answer = await cosignByWitness(
      witness,
      { checkpoint: await sign(older), lastSize: 400, reader: older },
      options,
    );
    expect(answer).toEqual({ kind: 'at-other-size', size: 500 });
  });

  it('says why it does not cosign', async () => {
    await using witness = await startTestWitness({ logs });
    const log = new LogInMemory().append(entries(0, 5));
    const ask = async (checkpoint: Uint8Array, oldSize = 0) =>
      addCheckpoint(witness, { oldSize, proof: [], checkpoint }, options);
    expect(await ask(await sign(log, 'other.test/log'))).toEqual({ kind: 'refused', why: 'unknown-log', status: 404 });
    const foreign = generateKeyPairSync('ed25519').privateKey;
    expect(await ask(await sign(log, ORIGIN, foreign))).toEqual({
      kind: 'refused',
      why: 'untrusted-key',
      status: 403,
    });
    expect(await ask(Buffer.from('no note'))).toEqual({ kind: 'refused', why: 'malformed', status: 400 });
    expect(await ask(await sign(log), 6)).toEqual({ kind: 'refused', why: 'malformed', status: 400 });
  });
});

describe('an answer of a witness', () => {
  const note = sign(new LogInMemory().append(entries(0, 5)));

  const witnessKey = generateKeyPairSync('ed25519').privateKey;

  async function asked(listener: RequestListener, timeoutMs = 20_000): Promise<unknown> {
    const server = createServer(listener);
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/some/prefix/`);
    const witness: Witness = { url, key: parseVerifierKey(verifierKey('w', 'cosignature', witnessKey)) };
    try {
      return await addCheckpoint(witness, { oldSize: 0, proof: [], checkpoint: await note }, { ...options, timeoutMs });
    } finally {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    }
  }

  it.each<[string, RequestListener, string]>([
    ['of nobody', (_, response) => response.end(), 'line of a signature'],
    ['of another key', (_, response) => response.end('— other AAAAAAA=\n'), 'the key that we know it by'],
    ['of nothing that ends', (_, response) => response.end('x'.repeat(70_000)), 'more than 65536 bytes'],
    [
      'of a 409 without a size',
      (_, response) => response.writeHead(409, { 'content-type': 'text/x.tlog.size' }).end('5'),
      'no size',
    ],
  ])('%s is none', async (_, listener, message) => {
    await expect(asked(listener)).rejects.toThrow(message);
  });

  it('is none when it is of the right key, and of another checkpoint', async () => {
    const other = signNote('another\n', [cosigner('w', witnessKey, () => new Date())]);
    const line = formatSignatures((await other).signatures);
    await expect(asked((_, response) => response.end(line))).rejects.toThrow('does not match the checkpoint');
  });

  it('is none when it leads elsewhere, where there may be one', async () => {
    const listener: RequestListener = (request, response) => {
      if (request.url === '/elsewhere') response.writeHead(403).end();
      else response.writeHead(307, { location: '/elsewhere' }).end();
    };
    await expect(asked(listener)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('that does not come ends by the deadline', async () => {
    await expect(asked(() => {}, 50)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('in time') as string,
    });
  });

  it('may be a 409 that says no size, or a status that nobody foresaw', async () => {
    expect(await asked((_, response) => response.writeHead(409).end('conflict'))).toEqual({
      kind: 'refused',
      why: 'fork',
      status: 409,
    });
    expect(await asked((_, response) => response.writeHead(429).end())).toEqual({
      kind: 'refused',
      why: 'other',
      status: 429,
    });
  });

  it('is to a request at its prefix', async () => {
    let path: string | undefined;
    await asked((request, response) => {
      path = `${request.method} ${request.url}`;
      response.writeHead(503).end();
    });
    expect(path).toBe('POST /some/prefix/add-checkpoint');
  });
});

describe('a request to a witness', () => {
  it('is read as it was written', async () => {
    const log = new LogInMemory().append(entries(0, 700));
    const request = { oldSize: 300, proof: await proveConsistency(log, 300, 700), checkpoint: await sign(log) };
    const body = encodeAddCheckpoint(request);
    expect(body.toString()).toMatch(/^old 300\n(?:[A-Za-z0-9+/]{43}=\n)+\nfairlead\.test\/tenants\/acme\n700\n/);
    expect(decodeAddCheckpoint(body)).toEqual({ ...request, proof: request.proof.map((hash) => Buffer.from(hash)) });
  });

  const line = `${Buffer.alloc(32).toString('base64')}\n`;
  it.each([
    ['no empty line', 'old 0\n'],
    ['no old size', `${line}\nnote`],
    ['a leading zero', 'old 00\n\nnote'],
    ['a size that cannot be computed with', 'old 9007199254740993\n\nnote'],
    ['64 hashes', `old 1\n${line.repeat(64)}\nnote`],
    ['a hash that is none', 'old 1\nAAAA\n\nnote'],
    ['a hash in another spelling', `old 1\n${line.replace('A=', 'B=')}\nnote`],
  ])('is none with %s', (_, body) => {
    expect(() => decodeAddCheckpoint(Buffer.from(body))).toThrow(invalid);
  });

  it.each([
    ['12\n', 12],
    ['0\n', 0],
    ['12', undefined],
    ['012\n', undefined],
    ['', undefined],
    ['9007199254740993\n', undefined],
  ])('the size in %j is %s', (body, size) => {
    expect(decodeSize(Buffer.from(body))).toBe(size);
  });
});
