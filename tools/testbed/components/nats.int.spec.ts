import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { temporaryDirectory } from '../fixtures/temporary.js';
import type { NatsInfo, Running } from './contract.js';
import { startNats } from './nats.js';

/** One request over NATS' text protocol, and what the server sent until the reply (or its refusal) was there. */
function request(port: number, subject: string, body: string, auth: object = {}): Promise<string> {
  return new Promise((done, fail) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (/^MSG .*\r\n.*\r\n|^-ERR/mu.test(text)) socket.end(() => done(text));
    });
    socket.on('error', fail);
    const options = JSON.stringify({ verbose: false, headers: true, ...auth });
    socket.write(`CONNECT ${options}\r\nSUB reply 1\r\nPUB ${subject} reply ${body.length}\r\n${body}\r\n`);
  });
}

describe('nats', () => {
  let dir: Awaited<ReturnType<typeof temporaryDirectory>>;
  let nats: Running<NatsInfo>;

  beforeAll(async () => {
    // The child process is what is tested here, also on a machine with Docker.
    vi.stubEnv('FAIRLEAD_TESTBED_PROVIDERS', 'path,download,go');
    dir = await temporaryDirectory();
    const authorizationConfig = 'authorization { users [{ user: "me", password: "secret" }] }';
    nats = await startNats({ dataDir: dir.path, authorizationConfig, maxStoreBytes: 50_000_000, log: () => {} });
  });

  afterAll(async () => {
    await nats?.stop();
    await dir[Symbol.asyncDispose]();
    vi.unstubAllEnvs();
  });

  const me = { user: 'me', pass: 'secret' };

  it('has JetStream with the wanted limit, on 127.0.0.1 only', async () => {
    expect(nats.info.url).toBe(`nats://127.0.0.1:${nats.info.port}`);
    const varz = (await (await fetch(`${nats.info.monitorUrl}/varz`)).json()) as Varz;
    expect(varz).toMatchObject({ host: '127.0.0.1', server_name: 'fairlead-testbed' });
    expect(varz.jetstream.config.max_storage).toBe(50_000_000);
  });

  it('uses the authorisation it was given', async () => {
    expect(await request(nats.info.port, 'x', '')).toContain('Authorization Violation');
  });

  it('comes back after SIGKILL on the same port with its streams', async () => {
    const stream = JSON.stringify({ name: 'KEPT', subjects: ['kept.>'], storage: 'file' });
    expect(await request(nats.info.port, '$JS.API.STREAM.CREATE.KEPT', stream, me)).toContain('"name":"KEPT"');
    expect(await request(nats.info.port, 'kept.one', 'hello', me)).toContain('"seq":1');
    const { exited } = nats;
    nats.kill('SIGKILL');
    expect(await exited).toEqual({ code: null, signal: 'SIGKILL' });
    await nats.restart();
    expect(await request(nats.info.port, '$JS.API.STREAM.INFO.KEPT', '', me)).toContain('"messages":1');
  });

  it('can be frozen and stopped all the same', async () => {
    nats.kill('SIGSTOP');
    await nats.restart();
    expect(await request(nats.info.port, '$JS.API.STREAM.INFO.KEPT', '', me)).toContain('"messages":1');
  });

  it('says why a server did not start', async () => {
    await using other = await temporaryDirectory();
    const broken = startNats({ dataDir: other.path, authorizationConfig: 'authorization { nonsense', log: () => {} });
    await expect(broken).rejects.toThrow(
      /^nats-server ended \(code 1\) before it was ready:\n.*Parse error on line 6/su,
    );
  });

  it('stops starting when it is told to', async () => {
    await using other = await temporaryDirectory();
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(startNats({ dataDir: other.path, signal, log: () => {} })).rejects.toThrow('enough');
  });
});

interface Varz {
  readonly jetstream: { readonly config: { readonly max_storage: number } };
}

it('points to the server of NATS_URL, which is not ours to stop', async () => {
  vi.stubEnv('NATS_URL', 'nats://127.0.0.1:4999');
  const lines: string[] = [];
  const nats = await startNats({ dataDir: '/nowhere', log: (line) => lines.push(line) });
  expect(nats.info).toEqual({ url: 'nats://127.0.0.1:4999', port: 4999 });
  expect(lines).toEqual(['nats: 127.0.0.1:4999 (env: NATS_URL names it)']);
  await nats.stop();
  expect(() => nats.kill('SIGKILL')).toThrow('the testbed did not start it');
  vi.unstubAllEnvs();
});
