import { FairleadError } from '@fairlead/errors';
import type { NatsConnection } from '@nats-io/transport-node';
import { z } from 'zod';
import { SUBSCRIBERS_ACCOUNT } from './subscriber-rights.js';

/** What `keys` asks nats-server itself by: of the system account, these two requests and no other. */
export const CONNECTIONS_REQUEST = 'fairlead.nats.CONNECTIONS';
export const cutRequest = (serverId: string): string => `fairlead.nats.${serverId}.CUT`;

const TIMEOUT_MS = 2_000;
const PAGE = 1_024;
/** Of servers in a cluster: each answers. */
const MAX_SERVERS = 64;
/** After the first server's answer no other one is waited for longer than this. */
const STALL_MS = 300;

const Answer = z.object({
  server: z.object({ id: z.string().regex(/^N[A-Z2-7]{55}$/) }),
  data: z.object({
    total: z.int().min(0),
    connections: z.array(z.object({ cid: z.int().min(1), authorized_user: z.string().max(256).optional() })).max(PAGE),
  }),
});

export interface SubscriberConnection {
  readonly serverId: string;
  readonly connectionId: number;
  /** Whose it is; empty: the server does not say. */
  readonly publicKey: string;
}

/** Every connection of a subscriber, of all servers that answer. UNAVAILABLE if none does. */
export async function subscriberConnections(nats: NatsConnection): Promise<SubscriberConnection[]> {
  const found: SubscriberConnection[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const request = JSON.stringify({ auth: true, acc: SUBSCRIBERS_ACCOUNT, limit: PAGE, offset });
    const answers = await allAnswers(nats, request);
    for (const { server, data } of answers) {
      for (const { cid: connectionId, authorized_user: publicKey = '' } of data.connections) {
        found.push({ serverId: server.id, connectionId, publicKey });
      }
    }
    if (answers.every(({ data }) => data.connections.length < PAGE)) return found;
  }
}

/** Ends it. UNAVAILABLE: its server does not answer. One that is gone already is no failure. */
export async function cutConnection(nats: NatsConnection, connection: SubscriberConnection): Promise<void> {
  const { serverId, connectionId: cid } = connection;
  await nats.request(cutRequest(serverId), JSON.stringify({ cid }), { timeout: TIMEOUT_MS }).catch((cause: unknown) => {
    throw new FairleadError('UNAVAILABLE', 'nats-server did not cut a connection', { cause });
  });
}

async function allAnswers(nats: NatsConnection, request: string): Promise<z.infer<typeof Answer>[]> {
  try {
    const answers = await nats.requestMany(CONNECTIONS_REQUEST, request, {
      strategy: 'stall',
      stall: STALL_MS,
      maxMessages: MAX_SERVERS,
      maxWait: TIMEOUT_MS,
    });
    const read: z.infer<typeof Answer>[] = [];
    for await (const answer of answers) read.push(Answer.parse(answer.json()));
    if (read.length > 0) return read;
  } catch (cause) {
    throw new FairleadError('UNAVAILABLE', 'nats-server does not tell who is connected', { cause });
  }
  throw new FairleadError('UNAVAILABLE', 'nats-server does not tell who is connected');
}
