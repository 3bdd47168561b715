import { request, type IncomingMessage } from 'node:http';
import { request as httpsRequest, Agent } from 'node:https';
import { text } from 'node:stream/consumers';
import { eventually, type EventuallyOptions } from '@fairlead/testing';
import type { Replica, TestInstallation } from './replicas.js';

export interface DoorAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface DoorCall {
  readonly method?: string;
  readonly path?: string;
  /** Raw, so that tests can repeat and misspell headers. Authorization is added unless one is given. */
  readonly headers?: readonly string[];
  readonly token?: string | null;
  /** The host that is asked for; default `door`. */
  readonly host?: string;
  /** The host that the connection is opened for (SNI); default none. */
  readonly serverName?: string;
  readonly body?: string;
  readonly agent?: Agent;
  readonly maxHeaderSize?: number;
}

/** One request to a replica's Kubernetes API door over HTTP/1.1. */
export function callDoor(installation: TestInstallation, replica: Replica, call: DoorCall = {}): Promise<DoorAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = openDoor(installation, replica, call);
    outgoing.once('error', reject);
    outgoing.once('response', (answer) => {
      // From here on the answer tells: one that came is whole, though the rest of its request was refused.
      outgoing.off('error', reject).on('error', () => undefined);
      text(answer).then((body) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }), reject);
    });
    outgoing.end(call.body);
  });
}

/** Resolves when the cluster's API server answers there. */
export function untilAnswered(
  installation: TestInstallation,
  replica: Replica,
  call: DoorCall = {},
  options: EventuallyOptions = {},
): Promise<void> {
  return eventually(async () => {
    const { status, body } = await callDoor(installation, replica, call);
    if (status !== 200) throw new Error(`${status} ${body}`);
  }, options);
}

/** Resolves when the replica lets a user in: while no agent of the cluster is there, it answers that by a 503 of its own. */
export function untilLetIn(installation: TestInstallation, replica: Replica): Promise<void> {
  return eventually(async () => {
    const { status, body } = await callDoor(installation, replica);
    if (status !== 503) throw new Error(body);
  });
}

/** The same as callDoor, for tests that stream: the caller ends the request and reads the answer. */
export function openDoor(installation: TestInstallation, replica: Replica, call: DoorCall): ReturnType<typeof request> {
  const token = call.token === undefined ? installation.token : call.token;
  const authorization = token === null ? [] : ['Authorization', `Bearer ${token}`];
  const length = call.body === undefined ? [] : ['Content-Length', String(Buffer.byteLength(call.body))];
  return httpsRequest({
    host: '127.0.0.1',
    port: replica.gateway.door.port,
    ca: [...installation.authority.roots],
    method: call.method ?? 'GET',
    path: call.path ?? `/clusters/${installation.cluster.name}/api`,
    headers: ['Host', call.host ?? 'door', ...authorization, ...length, ...(call.headers ?? [])],
    agent: call.agent ?? false,
    ...(call.serverName === undefined ? {} : { servername: call.serverName }),
    ...(call.maxHeaderSize === undefined ? {} : { maxHeaderSize: call.maxHeaderSize }),
  });
}
