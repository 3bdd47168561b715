import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startScriptedApi, type ScriptedApi } from '../testing/scripted-api.js';

let api: ScriptedApi;

beforeAll(async () => {
  // A busy machine has the last third of it for a renewal.
  api = await startScriptedApi({ certificateMs: 10_000 });
});

afterAll(async () => {
  await api?.[Symbol.asyncDispose]();
});

async function open(): Promise<{ socket: TLSSocket; serial: string; key: string | undefined }> {
  const socket = connect({ host: '127.0.0.1', port: api.port, ca: api.caPem });
  await once(socket, 'secureConnect');
  const certificate = socket.getPeerX509Certificate();
  return { socket, serial: certificate?.serialNumber ?? '', key: certificate?.fingerprint256 };
}

it('is renewed in time with a fresh key, without dropping a connection', async () => {
  const first = await eventually(open);
  const second = await eventually(async () => {
    const next = await open();
    next.socket.destroy();
    expect(next.serial).not.toBe(first.serial);
    return next;
  });
  expect(second.key).not.toBe(first.key);
  const answered = once(first.socket, 'data');
  first.socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  expect(String((await answered)[0])).toMatch(/^HTTP\/1.1 200/);
});
