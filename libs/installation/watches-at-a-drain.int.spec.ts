import { once } from 'node:events';
import { connect, constants, type ClientHttp2Session } from 'node:http2';
import { text } from 'node:stream/consumers';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callDoor, untilAnswered } from './kube-client.js';
import { startReplicaPair, type ReplicaPair } from './linked-cluster.js';
import type { Replica } from './replicas.js';

const EVENT = '{"type":"BOOKMARK"}\n';
const WATCH = '/clusters/demo/api/v1/pods?watch=1';
const LOG = '/clusters/demo/api/v1/namespaces/n/pods/p/log?follow=true';

/** The agent's link is to the first one. */
let pair: ReplicaPair;

beforeAll(async () => {
  pair = await startReplicaPair();
  await pair.installation.startAgent({ replicas: [pair.a], apiPort: pair.api.port });
  await untilAnswered(pair.installation, pair.b);
  pair.api.handle = (request, response) => {
    response.writeHead(200, request.url?.includes('withLength') ? { 'content-length': '100' } : {});
    response.write(EVENT);
  };
});
afterAll(() => pair?.[Symbol.asyncDispose]());

const http2Session = ({ door }: Replica['gateway']): ClientHttp2Session =>
  connect(`https://127.0.0.1:${door.port}`, { ca: [...pair.installation.authority.roots] }).on(
    'error',
    () => undefined,
  );

const asked = (path: string): Record<string, string> => ({
  ':path': path,
  authorization: `Bearer ${pair.installation.token}`,
});

/** Rejects for an answer that breaks off. */
async function overHttp2({ gateway }: Replica, path: string): Promise<string> {
  const session = http2Session(gateway);
  const stream = session.request(asked(path));
  const body = await text(stream);
  if (!stream.closed) await once(stream, 'close');
  session.close();
  if (stream.rstCode !== 0) throw new Error(`reset with ${stream.rstCode}`);
  return body;
}

const overHttp1 = async (replica: Replica, path: string): Promise<string> =>
  (await callDoor(pair.installation, replica, { path })).body;

/** What a client is told that has a log and a watch on one connection: each GOAWAY with words, and its code. */
async function logAndWatch({ gateway }: Replica): Promise<Record<'watch' | 'log' | 'told', unknown>> {
  const session = http2Session(gateway);
  const told: unknown[] = [];
  session.on('goaway', (code, _last, words) => words && told.push([code, words.toString()]));
  const closed = once(session, 'close');
  const log = session.request(asked(LOG)).on('error', () => undefined);
  const ended = text(log).then(
    () => log.rstCode,
    () => log.rstCode,
  );
  const watch = await text(session.request(asked(WATCH)));
  await closed;
  return { watch, log: await ended, told };
}

interface Outcome {
  readonly what: string;
  readonly ended: 'cleanly' | 'broken off';
}

/** What became of a request at each replica, in each protocol. */
function outcomes(what: string, path: string): Promise<Outcome>[] {
  return [pair.a, pair.b].flatMap((replica) =>
    [overHttp1, overHttp2].map((ask) =>
      ask(replica, path).then(
        (body): Outcome => ({ what, ended: body === EVENT ? 'cleanly' : 'broken off' }),
        (): Outcome => ({ what, ended: 'broken off' }),
      ),
    ),
  );
}

it('a watch ends as a kube-apiserver ends one when the replica that it goes through leaves; nothing else does', async () => {
  const cut = [
    ['a list', '/clusters/demo/api/v1/pods'],
    ['a log', '/clusters/demo/api/v1/namespaces/n/pods/p/log?follow=true&watch=true'],
    ['from behind a proxy of the cluster', '/clusters/demo/api/v1/namespaces/n/services/s/proxy/x?watch=1'],
    ['what has a length', `${WATCH}&withLength`],
  ] as const;
  pair.api.requests.length = 0;
  const all = [...outcomes('a watch', WATCH), ...cut.flatMap(([what, path]) => outcomes(what, path))];
  const both = logAndWatch(pair.a);
  await eventually(() => expect(pair.api.requests).toHaveLength(all.length + 2));
  await pair.a.stop();
  const found = await Promise.all(all);
  const times = (count: number, outcome: Outcome): Outcome[] => Array.from({ length: count }, () => outcome);
  expect(found).toEqual([
    ...times(4, { what: 'a watch', ended: 'cleanly' }),
    ...cut.flatMap(([what]) => times(4, { what, ended: 'broken off' })),
  ]);
  expect(await both).toEqual({
    // Ended in order, before the connection did.
    watch: EVENT,
    // As Node has it for a stream that its connection takes along; a reset of ours would come before the words.
    log: constants.NGHTTP2_CANCEL,
    told: [[constants.NGHTTP2_NO_ERROR, 'this gateway shuts down; run the command again']],
  });
});
