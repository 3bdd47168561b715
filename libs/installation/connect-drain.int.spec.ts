import type { Logger } from '@fairlead/observability';
import { eventually } from '@fairlead/testing';
import { startTcpTarget, type TcpTarget } from '@fairlead/tunnel/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clientCertificate, connectThrough, dialConnectDoor, readHead } from './connect-client.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

/** For all that is asked once the replica leaves, on a machine that is busy. */
const DOOR_GRACE_MS = 10_000;

let installation: TestInstallation;
let target: TcpTarget;
let leaving: Replica;
let staying: Replica;
/** What the agent logged. */
const events: string[] = [];
const hear = (event: string): void => void events.push(event);
const logger: Logger = {
  log: (_level, event) => hear(event),
  debug: hear,
  info: hear,
  warn: hear,
  error: hear,
  with: () => logger,
};

beforeAll(async () => {
  installation = await startInstallation();
  target = await startTcpTarget();
  leaving = await installation.startReplica('gateway-a', { doorGraceMs: DOOR_GRACE_MS });
  staying = await installation.startReplica('gateway-b');
  const replicas = [leaving, staying];
  await installation.startAgent({ replicas, apiPort: 1, links: 2, allowTargets: ['127.0.0.1:*'], logger });
});
afterAll(async () => {
  await target?.[Symbol.asyncDispose]();
  await installation?.[Symbol.asyncDispose]();
});

it('what a leaving replica was asked at the last moment does not wait for tunnels that nobody parks there any more', async () => {
  const { authority } = installation;
  const { clientId } = await installation.addClient(null);
  const certificate = await clientCertificate(authority, clientId);
  // As long as something runs on it, the agent keeps the link.
  const long = await eventually(async () => {
    const answer = await connectThrough(leaving, { authority, certificate, target: `127.0.0.1:${target.port}` });
    // Until the replica has heard of the client.
    expect(answer.status).toBe(200);
    return answer;
  });
  const line = `CONNECT 127.0.0.1:${target.port} HTTP/1.1\r\n`;
  const half = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const { socket } = await dialConnectDoor(leaving, { authority, certificate });
      socket.on('error', () => undefined);
      socket.write(line);
      return socket;
    }),
  );
  // The other replica knows of this one's sessions, and this one of the other's.
  await eventually(() => {
    const { routes } = leaving.gateway.debugView() as { routes: { key: string }[] };
    expect(routes.filter(({ key }) => key.startsWith('session.'))).toHaveLength(2);
  });
  let isGone = false;
  const stopping = leaving.stop().then(() => (isGone = true));
  await eventually(() => expect(events).toContain('link.draining'));
  const answers = half.map((socket) => readHead(socket));
  for (const socket of half) socket.write(`Host: 127.0.0.1:${target.port}\r\n\r\n`);
  const statuses = (await Promise.all(answers)).map((head) => Number(head.split(' ')[1]));
  expect(statuses).toEqual([200, 200, 200, 200]);
  // They did not wait until the drain was over: it gives the long one 5 s.
  expect(isGone).toBe(false);
  // A balancer that did not notice yet: the door is open until it did, and the tunnel goes by the other replica.
  expect(leaving.gateway.readiness().some(({ ok }) => !ok)).toBe(true);
  const late = await Promise.all(
    Array.from({ length: 5 }, () =>
      connectThrough(leaving, { authority, certificate, target: `127.0.0.1:${target.port}` }),
    ),
  );
  expect(late.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  for (const { socket } of late) socket.destroy();
  for (const socket of [long.socket, ...half]) socket.destroy();
  await stopping;
});
