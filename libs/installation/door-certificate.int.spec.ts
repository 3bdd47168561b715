import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { eventually, scratchDir, testAuthority, type ScratchDir, type TestAuthority } from '@fairlead/testing';
import { startRecordingApiServer, type RecordingApiServer } from '@fairlead/tunnel/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clientCertificate } from './connect-client.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

let scratch: ScratchDir;
let installation: TestInstallation;
let api: RecordingApiServer;
/** A CA that nobody in the installation knows, as a public one is. */
let publicCa: TestAuthority;
let replica: Replica;
let serials: string[];

const file = (name: string): string => join(scratch.path, name);

/** As a mounted Secret is: both at once, or nearly. */
async function replaceFiles(): Promise<void> {
  const { chainPem, privateKeyPem, serial } = await publicCa.serving(['127.0.0.1']);
  await Promise.all([writeFile(file('crt.next'), chainPem), writeFile(file('key.next'), privateKeyPem)]);
  await rename(file('crt.next'), file('tls.crt'));
  await rename(file('key.next'), file('tls.key'));
  serials.push(serial);
}

beforeAll(async () => {
  serials = [];
  [scratch, installation, publicCa] = await Promise.all([scratchDir(), startInstallation(), testAuthority()]);
  api = await startRecordingApiServer(installation.authority);
  await replaceFiles();
  const doorFiles = { certFile: file('tls.crt'), keyFile: file('tls.key') };
  replica = await installation.startReplica('gateway-a', { doorFiles });
});

afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
  await scratch?.[Symbol.asyncDispose]();
});

/** Connected, verified by the public CA alone. */
async function dial(port: number): Promise<TLSSocket> {
  const client = await installation.addClient(null);
  const certificate = await clientCertificate(installation.authority, client.clientId);
  const socket = connect({ host: '127.0.0.1', port, ca: [...publicCa.roots], ...certificate });
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
  return socket.on('error', () => undefined);
}

async function shown(): Promise<string[]> {
  const { door, connect: connectDoor } = replica.gateway;
  const sockets = await Promise.all([door.port, connectDoor?.port ?? 0].map(dial));
  const found = sockets.map((socket) => socket.getPeerCertificate().serialNumber.toLowerCase());
  for (const socket of sockets) socket.destroy();
  return found;
}

it('both doors show a certificate of one’s own, and agents see nothing of it', async () => {
  expect(await shown()).toEqual([serials[0], serials[0]]);
  const agent = await installation.startAgent({ replicas: [replica], apiPort: api.port });
  expect(agent.agent.readiness()).toMatchObject([{ ok: true }]);
  await agent.stop();
});

it('both show the next one soon after its files have changed, and connections that stand go on', async () => {
  const standing = await dial(replica.gateway.door.port);
  await replaceFiles();
  // They are looked at every ten seconds, and a look may find one of them only.
  await eventually(async () => expect(await shown()).toEqual([serials[1], serials[1]]), { timeoutMs: 45_000 });
  expect(standing.destroyed).toBe(false);
  standing.destroy();
});
