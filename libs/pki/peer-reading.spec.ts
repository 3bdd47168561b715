import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer, type ConnectionOptions, type TLSSocket, type TlsOptions } from 'node:tls';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { replacePeerReading } from './peer-reading.js';
import { bothEnds } from './testing/both-ends.js';

const run = promisify(execFile);

/** What shows a certificate, with its chain. */
interface Holder {
  readonly key: string;
  readonly cert: string;
}

let folder: string;
let root: Holder;
let issuing: Holder;
let server: Holder;
let client: Holder;
let undo: (() => void) | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'peer-reading-'));
  root = await certify('root', 'P-256');
  issuing = await certify('issuing', 'P-256', { by: 'root', extensions: CA });
  server = await certify('server', 'P-256', { by: 'issuing' });
  client = await certify('client', 'P-256', { by: 'issuing' });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

beforeEach(() => {
  undo = replacePeerReading();
});
afterEach(() => undo?.());

const CA = 'basicConstraints=critical,CA:TRUE';

/** For `localhost`, of a key on this curve, or of this kind; signed by itself unless it is said by whom. The chain has no root. */
async function certify(
  name: string,
  keys: string,
  { by = name, extensions = '', subject = `/CN=${name}`, alternative = 'subjectAltName=DNS:localhost' } = {},
): Promise<Holder> {
  const file = (suffix: string): string => join(folder, `${name}.${suffix}`);
  const kind = keys.startsWith('ed') ? [keys] : ['ec', '-pkeyopt', `ec_paramgen_curve:${keys}`];
  const key = ['-newkey', ...kind, '-nodes', '-keyout', file('key')];
  const self = by === name ? ['-x509', '-out', file('pem')] : ['-out', file('csr')];
  await run('openssl', ['req', ...key, ...self, '-subj', subject]);
  if (by !== name) {
    await writeFile(file('ext'), `${alternative}\n${extensions}\n`);
    const signed = ['-CA', join(folder, `${by}.pem`), '-CAkey', join(folder, `${by}.key`), '-CAcreateserial'];
    await run('openssl', ['x509', '-req', '-in', file('csr'), '-extfile', file('ext'), ...signed, '-out', file('pem')]);
  }
  const read = (of: string, suffix: string): Promise<string> => readFile(join(folder, `${of}.${suffix}`), 'utf8');
  const issuer = by === name || by === 'root' ? '' : await read(by, 'pem');
  return { key: await read(name, 'key'), cert: (await read(name, 'pem')) + issuer };
}

/** One handshake; both ends, until `look` is done. */
async function handshake<T>(
  serving: TlsOptions,
  dialling: ConnectionOptions,
  look: (ends: { readonly seen: TLSSocket; readonly socket: TLSSocket }) => T | Promise<T>,
): Promise<T> {
  const listener = createServer({ ...server, ca: root.cert, requestCert: true, ...serving });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const socket = connect({ ca: root.cert, servername: 'localhost', ...dialling, host: '127.0.0.1', port });
  try {
    return await look({ seen: await bothEnds(listener, socket), socket });
  } finally {
    socket.destroy();
    listener.close();
  }
}

const leafOf = ({ cert }: Holder): X509Certificate => new X509Certificate(cert);

describe('replacePeerReading', () => {
  it("leaves a peer's chain to OpenSSL, which frees it, and the peer's certificate is the same", async () => {
    await handshake({}, client, ({ seen, socket }) => {
      const [ofClient, ofServer] = [seen.getPeerX509Certificate(), socket.getPeerX509Certificate()];
      expect([seen.getPeerCertificate().raw, socket.getPeerCertificate().raw]).toEqual([
        leafOf(client).raw,
        leafOf(server).raw,
      ]);
      expect([ofClient?.raw, ofServer?.raw]).toEqual([leafOf(client).raw, leafOf(server).raw]);
      expect(ofClient?.subjectAltName).toBe('DNS:localhost');
      undo?.();
      for (const end of [seen, socket]) {
        expect(end.getPeerCertificate(true).issuerCertificate.raw).toEqual(leafOf(issuing).raw);
      }
    });
  });

  it('tells peers apart that come by turns, with certificates of any length', async () => {
    const other = await certify('other-client', 'P-256', { by: 'issuing' });
    const names = Array.from({ length: 400 }, (_, at) => `DNS:${at}.example`).join(',');
    const long = await certify('long', 'P-256', { by: 'issuing', alternative: `subjectAltName=${names}` });
    for (const peer of [client, other, long, client, long, other]) {
      const ofClient = await handshake({}, peer, ({ seen }) => seen.getPeerX509Certificate()?.raw);
      expect(ofClient).toEqual(leafOf(peer).raw);
    }
  });

  it('reads a certificate once, however many connections it comes with', async () => {
    const below = async (peer: Holder): Promise<unknown> =>
      handshake({}, peer, ({ seen }) => {
        const { _handle: handle } = seen as TLSSocket & { readonly _handle: { getPeerX509Certificate(): object } };
        return handle.getPeerX509Certificate();
      });
    const first = await below(client);
    expect(first).toBeTypeOf('object');
    expect(await below(client)).toBe(first);
  });

  it('takes nobody who shows no certificate, or one that nobody here signed', async () => {
    await expect(handshake({}, {}, () => 'taken')).rejects.toThrow(/hang up|certificate/);
    const stranger = await certify('stranger', 'P-256');
    await expect(handshake({}, stranger, () => 'taken')).rejects.toThrow(/hang up/);
    const lax = { rejectUnauthorized: false };
    const shown = await handshake(lax, {}, ({ seen }) => [seen.getPeerX509Certificate(), seen.authorized]);
    expect(shown).toEqual([undefined, false]);
  });

  it('reads what was shown when a session began that is resumed', async () => {
    const ticketKeys = Buffer.alloc(48, 7);
    const session = await handshake({ ticketKeys }, client, async ({ seen, socket }) => {
      const ticket = once(socket, 'session');
      seen.write('hello');
      socket.resume();
      return ((await ticket) as [Buffer])[0];
    });
    await handshake({ ticketKeys }, { ...client, session }, ({ seen }) => {
      expect([seen.isSessionReused(), seen.authorized]).toEqual([true, true]);
      expect(seen.getPeerX509Certificate()?.raw).toEqual(leafOf(client).raw);
    });
  });

  it.each(['brainpoolP256r1', 'brainpoolP384r1'])('lets no client on %s end a server', async (curve) => {
    const stranger = await certify('stranger', curve);
    await handshake({ rejectUnauthorized: false }, stranger, ({ seen }) => {
      expect([seen.getPeerX509Certificate()?.raw, seen.authorized]).toEqual([leafOf(stranger).raw, false]);
      expect(seen.getPeerCertificate()).toMatchObject({ raw: leafOf(stranger).raw, subject: { CN: 'stranger' } });
    });
    const known = await certify('known', curve, { by: 'issuing' });
    await handshake({}, known, ({ seen }) => expect(seen.getPeerX509Certificate()?.raw).toEqual(leafOf(known).raw));
  });

  it.each(['server', 'issuer', 'server and issuer'])('lets no server end a client: brainpool at %s', async (where) => {
    const by = where.includes('issuer') ? 'other' : 'issuing';
    if (by === 'other') await certify('other', 'brainpoolP256r1', { by: 'root', extensions: CA });
    const named = await certify('named', where.includes('server') ? 'brainpoolP256r1' : 'P-256', { by });
    const lax = { ...named, requestCert: false };
    expect(await handshake(lax, {}, ({ socket }) => socket.authorized)).toBe(true);
    await expect(handshake(lax, { servername: 'elsewhere' }, () => 'taken')).rejects.toThrow(/altnames/);
  });

  it.each([
    ['P-256', '/CN=localhost', 'localhost'],
    ['ed25519', '/CN=localhost', 'localhost'],
    ['brainpoolP256r1', '/O=a/CN=elsewhere/CN=localhost', 'elsewhere'],
  ])('verifies a name that only the subject has: %s, %s', async (keys, subject, servername) => {
    const named = await certify('named', keys, { by: 'issuing', subject, alternative: 'keyUsage=digitalSignature' });
    const lax = { ...named, requestCert: false };
    expect(await handshake(lax, { servername }, ({ socket }) => socket.authorized)).toBe(true);
    await expect(handshake(lax, { servername: 'localhost.example' }, () => 'taken')).rejects.toThrow(/does not match/);
  });

  it('verifies a name where there is no subject, and none where there is no name', async () => {
    const unnamed = { ...(await certify('unnamed', 'P-256', { by: 'issuing', subject: '/' })), requestCert: false };
    expect(await handshake(unnamed, {}, ({ socket }) => socket.authorized)).toBe(true);
    await expect(handshake(unnamed, { servername: 'elsewhere' }, () => 'taken')).rejects.toThrow(/does not match/);
    const bare = await certify('bare', 'P-256', {
      by: 'issuing',
      subject: '/',
      alternative: 'keyUsage=digitalSignature',
    });
    await expect(handshake({ ...bare, requestCert: false }, {}, () => 'taken')).rejects.toThrow(/does not contain/);
  });

  it('takes a certificate for itself, and not for one that stands in it as PEM', async () => {
    const inner = Buffer.from(`\n${client.cert}`);
    const extensions = `1.2.3.4.5=DER:0482${inner.length.toString(16).padStart(4, '0')}${inner.toString('hex')}`;
    const outer = await certify('outer', 'P-256', { by: 'issuing', extensions });
    const raw = await handshake({}, outer, ({ seen }) => seen.getPeerX509Certificate()?.raw);
    expect(raw?.equals(leafOf(outer).raw)).toBe(true);
  });

  it.each([
    ['', 'nothing'],
    ['3080', 'a sequence without an end'],
    ['3003a30530', 'a field that goes on behind its end'],
    ['3004a3023000', 'what is no certificate'],
  ])('counts a session of %s as none: %s', async (session) => {
    await handshake({}, client, ({ seen }) => {
      const { _handle: handle } = seen as TLSSocket & { readonly _handle: object };
      Object.assign(handle, { getSession: () => Buffer.from(session, 'hex') });
      expect([seen.getPeerX509Certificate(), seen.getPeerCertificate()]).toEqual([undefined, {}]);
    });
  });

  it('knows this Node from inside', () => {
    expect(undo).toBeTypeOf('function');
    expect(replacePeerReading()).toBe(undo);
  });
});
