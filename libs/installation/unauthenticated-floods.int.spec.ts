import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { connect } from 'node:tls';
import { PREFACE, frame, settingsFrame } from '@fairlead/http2/testing';
import { UnauthenticatedFlood } from '@fairlead/limits';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clientCertificate, connectThrough } from './connect-client.js';
import { callDoor, untilLetIn } from './kube-client.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

let installation: TestInstallation;
let replica: Replica;

beforeAll(async () => {
  installation = await startInstallation();
  replica = await installation.startReplica('gateway-a');
  await untilLetIn(installation, replica);
});
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
});

/** DATA on a stream that nobody opened (RFC 9113, section 5.1). */
const OFFENCE = Buffer.concat([PREFACE, settingsFrame([]), frame(0, 0, 1, Buffer.alloc(1))]);

/** Shows no certificate, offends, and waits for its end. */
async function offend(port: number): Promise<void> {
  const socket = connect({
    port,
    host: '127.0.0.1',
    ALPNProtocols: ['h2', 'http/1.1'],
    ca: [...installation.authority.roots],
    checkServerIdentity: () => undefined,
  });
  const closed = new Promise((resolve) => void socket.on('error', () => undefined).once('close', resolve));
  socket.once('secureConnect', () => socket.resume().write(OFFENCE));
  await closed;
}

async function timesFive(act: () => Promise<unknown>): Promise<UnauthenticatedFlood> {
  // For which no time passes.
  const flood = new UnauthenticatedFlood(() => 0);
  await Promise.all(Array.from({ length: 5 }, act));
  return flood;
}

it.each(['link', 'relay', 'door', 'connect'] as const)(
  'notes those that offend at the %s port before they have shown who they are',
  async (port) => {
    const flood = await timesFive(() => offend(replica.gateway[port]?.port ?? 0));
    await eventually(() => expect(flood.isOn()).toBe(true));
  },
);

it('notes nobody who was let in, and nobody who only looked whether a port is open', async () => {
  const { clientId } = await installation.addClient([installation.cluster]);
  const certificate = await clientCertificate(installation.authority, clientId);
  const { authority } = installation;
  const flood = await timesFive(async () => {
    expect((await callDoor(installation, replica)).status).toBe(503);
    const { socket } = await connectThrough(replica, { authority, certificate, target: 'echo.demo:1' });
    await once(socket.resume().end(), 'close');
    const probe = connectTcp(replica.gateway.link.port, '127.0.0.1');
    await once(probe, 'connect');
    await once(probe.destroy(), 'close');
  });
  // Four offenders after them are no flood yet, and the fifth makes it one: nobody before counted.
  for (let offences = 0; offences < 4; offences += 1) await offend(replica.gateway.relay.port);
  expect(flood.isOn()).toBe(false);
  await offend(replica.gateway.relay.port);
  await eventually(() => expect(flood.isOn()).toBe(true));
});
