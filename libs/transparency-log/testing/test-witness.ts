import { generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseCheckpoint, type Checkpoint } from '../checkpoint/checkpoint.js';
import { EMPTY_ROOT, sameHash } from '../merkle/hashes.js';
import { verifyConsistency } from '../merkle/proofs.js';
import { cosigner, parseVerifierKey, verifierKey, type NoteVerifier } from '../note/keys.js';
import { formatSignatures, isOf, parseNote, signNote } from '../note/signed-note.js';
import { SIZE_MEDIA_TYPE, decodeAddCheckpoint, type AddCheckpoint } from '../witness/add-checkpoint.js';
import type { Witness } from '../witness/ask-witness.js';

export interface TestWitness extends Witness, AsyncDisposable {
  readonly verifierKey: string;
  /** What it cosigned last of a log. */
  readonly latest: ReadonlyMap<string, Pick<Checkpoint, 'size' | 'root'>>;
}

export interface TestWitnessOptions {
  readonly name?: string;
  /** By origin, the keys of the logs that it knows. */
  readonly logs: ReadonlyMap<string, readonly NoteVerifier[]>;
  readonly now?: () => Date;
}

interface Answer {
  readonly status: number;
  readonly type?: string;
  readonly body?: string;
}

/** A witness of C2SP tlog-witness on loopback, which remembers what it cosigned while it runs. */
export async function startTestWitness(options: TestWitnessOptions): Promise<TestWitness> {
  const name = options.name ?? 'witness.test/w1';
  const { privateKey } = generateKeyPairSync('ed25519');
  const signer = cosigner(name, privateKey, options.now ?? (() => new Date()));
  const latest = new Map<string, Pick<Checkpoint, 'size' | 'root'>>();
  const server = createServer((request, response) => {
    void (async () => {
      const { status, type = 'text/plain', body = '' } = await answerTo(request);
      response.writeHead(status, { 'content-type': type }).end(body);
    })();
  });
  const answerTo = async (request: IncomingMessage): Promise<Answer> => {
    if (request.method !== 'POST' || request.url !== '/add-checkpoint') return { status: 405 };
    const judged = judge(await bodyOf(request), options.logs, latest);
    if (!('text' in judged)) return judged;
    return { status: 200, body: formatSignatures((await signNote(judged.text, [signer])).signatures) };
  };
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const key = verifierKey(name, 'cosignature', privateKey);
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    key: parseVerifierKey(key),
    verifierKey: key,
    latest,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

/** Decides and remembers in one step, so that no other request comes between. */
function judge(
  body: Uint8Array,
  logs: TestWitnessOptions['logs'],
  latest: Map<string, Pick<Checkpoint, 'size' | 'root'>>,
): Answer | { readonly text: string } {
  const read = readRequest(body);
  if (!read) return { status: 400 };
  const { request, note, checkpoint } = read;
  const keys = logs.get(checkpoint.origin);
  if (!keys) return { status: 404 };
  const isSigned = note.signatures.some((line) =>
    keys.some((key) => isOf(key, line) && key.verify(note.text, line.signature)),
  );
  if (!isSigned) return { status: 403 };
  if (request.oldSize > checkpoint.size) return { status: 400 };
  const last = latest.get(checkpoint.origin) ?? { size: 0, root: EMPTY_ROOT };
  if (request.oldSize !== last.size) return { status: 409, type: SIZE_MEDIA_TYPE, body: `${last.size}\n` };
  if (last.size === checkpoint.size && !sameHash(last.root, checkpoint.root)) return { status: 422 };
  const claim = { oldSize: last.size, oldRoot: last.root, newSize: checkpoint.size, newRoot: checkpoint.root };
  if (!verifyConsistency(claim, request.proof)) return { status: 422 };
  latest.set(checkpoint.origin, checkpoint);
  return { text: note.text };
}

function readRequest(body: Uint8Array) {
  try {
    const request: AddCheckpoint = decodeAddCheckpoint(body);
    const note = parseNote(request.checkpoint);
    return { request, note, checkpoint: parseCheckpoint(note.text) };
  } catch {
    // Whatever is malformed is answered the same.
    return undefined;
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** A policy (C2SP tlog-policy) of these, by the names w0, w1 and so on, with the lines that say its quorum. */
export function policyText(
  witnesses: readonly Pick<TestWitness, 'verifierKey' | 'url'>[],
  ...quorum: string[]
): string {
  const lines = witnesses.map(({ verifierKey: key, url }, at) => `witness w${at} ${key} ${url.href}`);
  return [...lines, ...quorum, ''].join('\n');
}
