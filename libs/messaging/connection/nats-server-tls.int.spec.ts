import { readFileSync, writeFileSync } from 'node:fs';
import { connect as connectTls } from 'node:tls';
import { silentLogger } from '@fairlead/observability';
import { startNats, type NatsInfo, type NatsOptions, type Running } from '@fairlead/testbed';
import {
  eventually,
  scratchDir,
  testAuthority,
  writeServerFiles,
  type ScratchDir,
  type ServerFiles,
} from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectNats, connectionState, createNkey, natsAuthorization } from '../index.js';
import { natsServerTls } from './nats-server-tls.js';

const HOLDER = { role: 'api', credential: 'api' } as const;

let scratch: ScratchDir;
let files: ServerFiles;
let otherCaFile: string;
let seedFile: string;
let common: Pick<NatsOptions, 'authorizationConfig' | 'log'>;
let secured: Running<NatsInfo>;
let plain: Running<NatsInfo>;

beforeAll(async () => {
  scratch = await scratchDir();
  files = await writeServerFiles(await testAuthority(), scratch.file('right'));
  otherCaFile = (await writeServerFiles(await testAuthority(), scratch.file('wrong'))).caFile;
  const { seed, publicKey } = createNkey();
  seedFile = scratch.file('api.nk');
  writeFileSync(seedFile, seed, { mode: 0o600 });
  common = { authorizationConfig: natsAuthorization([{ ...HOLDER, publicKey }]), log: () => undefined };
  secured = await startNats({ ...common, dataDir: scratch.file('secured'), tls: files });
  plain = await startNats({ ...common, dataDir: scratch.file('plain') });
});
afterAll(async () => {
  await secured?.stop();
  await plain?.stop();
  await scratch?.[Symbol.asyncDispose]();
});

interface Trust {
  readonly url: string;
  readonly caFile?: string;
}

function connect(trust: Trust, signal: AbortSignal, logger = silentLogger): ReturnType<typeof connectNats> {
  return connectNats({ ...HOLDER, ...trust, seedFile, logger, signal });
}

/** No attempt succeeds, and this is logged: about the first one, or the next ones if the first ones merely took too long. */
async function failsWith(trust: Trust, why: RegExp): Promise<void> {
  const giveUp = new AbortController();
  const reasons: string[] = [];
  const warn = (_event: string, fields?: { reason?: unknown }): void => {
    const reason = String(fields?.reason);
    if (reasons.push(reason) < 3 && !why.test(reason)) return;
    giveUp.abort(new Error('refused, as it should be'));
  };
  const connecting = connect(trust, giveUp.signal, { ...silentLogger, warn });
  await expect(connecting).rejects.toThrow('refused, as it should be');
  expect(reasons.at(-1)).toMatch(why);
}

function shownSerial(port: number, caFile: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ port, host: '127.0.0.1', ca: readFileSync(caFile) });
    socket.once('error', reject).once('secureConnect', () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
  });
}

describe('a nats-server with TLS', () => {
  it.each(['tls', 'nats'])('is spoken to as %s://, with the CA that its certificate is from', async (scheme) => {
    const url = `${scheme}://127.0.0.1:${secured.info.port}`;
    const nc = await connect({ url, caFile: files.caFile }, AbortSignal.timeout(30_000));
    await nc.flush();
    expect(nc.info).toMatchObject({ tls_required: true });
    await nc.close();
  });

  it('is refused with another CA', async () => {
    const why = /^the server is not trusted: its certificate is not from .*wrong\/ca\.crt/;
    await failsWith({ url: secured.info.url, caFile: otherCaFile }, why);
  });

  it('is refused with the CAs of the system, if nothing names another', async () => {
    await failsWith({ url: secured.info.url }, /^the server is not trusted: .*this system trusts/);
  });

  it('is refused under a name that its certificate is not for', async () => {
    const wrong = await writeServerFiles(await testAuthority(), scratch.file('names'), ['nats.example.com']);
    await using server = await startNats({ dataDir: scratch.file('named'), tls: wrong, log: () => undefined });
    await failsWith({ url: server.info.url, caFile: wrong.caFile }, /its certificate is for other names/);
  });

  it('does not answer a client that speaks plain text, whose log says what to set', async () => {
    await failsWith({ url: `nats://127.0.0.1:${secured.info.port}` }, /set FAIRLEAD_NATS_CA_FILE/);
  });

  it('speaks no TLS 1.2', async () => {
    const socket = connectTls({ port: secured.info.port, host: '127.0.0.1', ca: [], maxVersion: 'TLSv1.2' });
    const failed = new Promise((resolve, reject) => {
      socket.once('error', resolve);
      socket.once('secureConnect', () => reject(new Error('it does')));
    });
    expect(await failed).toMatchObject({ code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' });
  });

  it('shows a renewed certificate after a reload, and loses no client by it', async () => {
    const authority = await testAuthority();
    const current = await writeServerFiles(authority, scratch.file('current'));
    await using server = await startNats({ ...common, dataDir: scratch.file('reloaded'), tls: current });
    const nc = await connect({ url: server.info.url, caFile: current.caFile }, AbortSignal.timeout(30_000));
    const before = await shownSerial(server.info.port, current.caFile);
    await writeServerFiles(authority, scratch.file('current'));
    server.kill('SIGHUP');
    await eventually(async () => expect(await shownSerial(server.info.port, current.caFile)).not.toBe(before));
    expect(connectionState(nc).connected).toBe(true);
    await nc.flush();
    await nc.close();
  });

  it('may get a certificate of a new CA while clients are connected', async () => {
    const caFile = scratch.file('rolling.crt');
    const old = await writeServerFiles(await testAuthority(), scratch.file('old'));
    const next = await writeServerFiles(await testAuthority(), scratch.file('next'));
    writeFileSync(caFile, readFileSync(old.caFile));
    const tls = { ...old };
    await using server = await startNats({ dataDir: scratch.file('rolling'), tls, log: () => undefined });
    const nc = await connect({ url: server.info.url, caFile }, AbortSignal.timeout(30_000));
    writeFileSync(caFile, readFileSync(next.caFile));
    writeFileSync(old.certFile, readFileSync(next.certFile));
    writeFileSync(old.keyFile, readFileSync(next.keyFile));
    await server.restart();
    await eventually(() => nc.flush());
    expect(connectionState(nc).connected).toBe(true);
    await nc.close();
  });
});

describe('a nats-server without TLS', () => {
  it('is refused where a CA is configured', async () => {
    const why = /^the server is not trusted: it does not answer with TLS/;
    await failsWith({ url: plain.info.url, caFile: files.caFile }, why);
  });

  it('is spoken to on loopback, where none is', async () => {
    const nc = await connect({ url: plain.info.url }, AbortSignal.timeout(30_000));
    expect(nc.info?.tls_required).toBeFalsy();
    await nc.close();
  });

  it.each(['nats://192.0.2.1:4222', 'nats://127.0.0.1:4222,nats://nats.example.com:4222', '10.0.0.1', 'nats://[::2]'])(
    'is not spoken to at %s unless a setting says so',
    (url) => {
      expect(() => natsServerTls({ url })).toThrow(/refusing to speak plain text to .*FAIRLEAD_NATS_CA_FILE/);
      expect(natsServerTls({ url, insecurePlaintext: true })).toBeNull();
      expect(natsServerTls({ url, caFile: files.caFile, insecurePlaintext: true })).toMatchObject({
        handshakeFirst: true,
      });
    },
  );
});

it('says what is wrong with a CA file', () => {
  const url = 'tls://127.0.0.1';
  expect(() => natsServerTls({ url, caFile: '/nowhere' })).toThrow(/cannot read the CA file \/nowhere: ENOENT/);
  expect(() => natsServerTls({ url, caFile: seedFile })).toThrow(/holds no certificate/);
});
