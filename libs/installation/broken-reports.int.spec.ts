import { once } from 'node:events';
import { connect } from 'node:http2';
import type { GatewayEvents } from '@fairlead/gateway';
import { silentLogger, type Logger } from '@fairlead/observability';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { collectCrashes, type Crashes } from './crashes.js';
import { clientCertificate, connectThrough } from './connect-client.js';
import { callDoor } from './kube-client.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

let installation: TestInstallation;
let replica: Replica;
const errors: string[] = [];
const logger: Logger = { ...silentLogger, error: (event) => void errors.push(event) };
let crashes: Crashes;

const broken: GatewayEvents = {
  agentConnected: () => undefined,
  agentDisconnected: () => undefined,
  stream: () => undefined,
  administratorUsed: () => undefined,
  accessRefused: () => {
    throw new Error('a fault of ours');
  },
};

beforeAll(async () => {
  crashes = collectCrashes();
  installation = await startInstallation();
  replica = await installation.startReplica('gateway-a', { logger, events: () => broken });
});

afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  crashes[Symbol.dispose]();
});

it('a fault of ours at the Kubernetes API door costs the request, not the process (HTTP/1.1)', async () => {
  await expect(callDoor(installation, replica, { token: null })).rejects.toThrow('socket hang up');
  expect([errors.splice(0), crashes.seen]).toEqual([['kube.request.broken'], []]);
});

it('a fault of ours at the Kubernetes API door costs the request, not the process (HTTP/2)', async () => {
  const session = connect(`https://127.0.0.1:${replica.gateway.door.port}`, { ca: [...installation.authority.roots] });
  const stream = session.request({ ':path': '/clusters/demo/api' });
  await expect(once(stream, 'response')).rejects.toMatchObject({ code: 'ERR_HTTP2_STREAM_ERROR' });
  session.close();
  expect([errors.splice(0), crashes.seen]).toEqual([['kube.request.broken'], []]);
});

it('a fault of ours at the CONNECT door costs the connection, not the process', async () => {
  const { clientId } = await installation.addClient([]);
  const { authority } = installation;
  const certificate = await clientCertificate(authority, clientId);
  await expect(connectThrough(replica, { authority, certificate, target: '127.0.0.1:1' })).rejects.toThrow(
    /ECONNRESET|no answer/,
  );
  expect([errors.splice(0), crashes.seen]).toEqual([['connect.broken'], []]);
});
