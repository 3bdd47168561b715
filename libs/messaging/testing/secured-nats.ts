import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SINGLETONS } from '@fairlead/contracts';
import { silentLogger } from '@fairlead/observability';
import { startNats, type NatsInfo, type Running } from '@fairlead/testbed';
import { scratchDir } from '@fairlead/testing';
import { connect as connectPlainly, nkeyAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import {
  connectNats,
  createNkey,
  natsAuthorization,
  natsUser,
  nkeyFromSeed,
  provisionJetStream,
  subscriberInboxPrefix,
  type Holder,
  type NatsUser,
} from '../index.js';

/** A real nats-server with the permissions that production has, its stream and its buckets. For tests. */
export interface SecuredNats extends AsyncDisposable {
  readonly server: Running<NatsInfo>;
  /** A connection with the holder's own credential; closed with the server. */
  connect(holder: Holder): Promise<NatsConnection>;
  seedFile(holder: Holder): string;
  seed(holder: Holder): Promise<string>;
  /** A connection of whoever has this seed, as a subscriber makes one; closed with the server. Rejects if it is not let in. */
  connectSubscriber(seed: string, options?: { readonly reconnect: boolean }): Promise<NatsConnection>;
  /** Of whoever says that it has that key, and signs with another one. */
  connectAs(claim: { readonly nkey: string; readonly signWith: string }): Promise<NatsConnection>;
  /** A connection of nobody there is, who may do anything with the streams: to see what is in them. */
  connectReader(): Promise<NatsConnection>;
}

const READER = { user: 'reader', pass: 'reader' };

/** The first users are those of the streams' account. */
function withReader(authorization: string): string {
  return authorization.replace('users: [', `users: [\n{ user: ${READER.user}, password: ${READER.pass} }`);
}

/** A credential of a role that has several, or that tests speak for. */
export const gatewayA = { role: 'gateway', credential: 'gateway-a' } as const;
export const gatewayB = { role: 'gateway', credential: 'gateway-b' } as const;
export const operator = { role: 'operator', credential: 'operator' } as const;

const HOLDERS: readonly Holder[] = [
  operator,
  ...SINGLETONS.map((role) => ({ role, credential: role })),
  gatewayA,
  gatewayB,
];

/** Starts it below `dataDir`, with gateway-a, gateway-b, operator and one of each other role as its users. */
export async function startSecuredNats(dataDir: string): Promise<SecuredNats> {
  await mkdir(dataDir, { recursive: true });
  const seedFile = (holder: Holder): string => join(dataDir, `${holder.credential}.nk`);
  const users = await Promise.all(HOLDERS.map((holder) => writeSeed(holder, seedFile(holder))));
  const server = await startNats({
    dataDir: join(dataDir, 'nats'),
    authorizationConfig: withReader(natsAuthorization(users)),
    log: () => undefined,
  });
  const connections: NatsConnection[] = [];
  const connect = async (holder: Holder): Promise<NatsConnection> => {
    const options = { ...holder, url: server.info.url, seedFile: seedFile(holder), logger: silentLogger };
    const nc = await connectNats({ ...options, signal: AbortSignal.timeout(30_000) });
    connections.push(nc);
    return nc;
  };
  await provisionJetStream(await connect(operator));
  return {
    server,
    connect,
    seedFile,
    seed: (holder) => readFile(seedFile(holder), 'utf8'),
    connectSubscriber: async (seed, { reconnect } = { reconnect: false }) => {
      const nc = await connectPlainly({
        servers: server.info.url,
        authenticator: nkeyAuthenticator(new TextEncoder().encode(seed)),
        inboxPrefix: subscriberInboxPrefix(nkeyFromSeed(seed).publicKey),
        reconnect,
        timeout: 20_000,
      });
      connections.push(nc);
      return nc;
    },
    connectAs: async ({ nkey, signWith }) => {
      const sign = nkeyAuthenticator(new TextEncoder().encode(signWith));
      const nc = await connectPlainly({
        servers: server.info.url,
        authenticator: (nonce) => ({ ...(sign(nonce) as { sig: string }), nkey }),
        reconnect: false,
        timeout: 20_000,
      });
      connections.push(nc);
      return nc;
    },
    connectReader: async () => {
      const nc = await connectPlainly({ servers: server.info.url, ...READER });
      connections.push(nc);
      return nc;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(connections.map((nc) => nc.close()));
      await server.stop();
    },
  };
}

/** The same in a folder of its own, with a connection of each holder, by its credential. */
export async function connectedNats(
  holders: readonly Holder[],
): Promise<AsyncDisposable & { readonly as: (holder: Holder) => NatsConnection }> {
  await using stack = new AsyncDisposableStack();
  const nats = stack.use(await startSecuredNats(stack.use(await scratchDir()).path));
  const connections = new Map<string, NatsConnection>();
  for (const holder of holders) connections.set(holder.credential, await nats.connect(holder));
  const owned = stack.move();
  return {
    as: (holder) => connections.get(holder.credential)!,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function writeSeed(holder: Holder, path: string): Promise<NatsUser> {
  const { seed } = createNkey();
  await writeFile(path, seed, { mode: 0o600 });
  await chmod(path, 0o600);
  return natsUser(holder, seed);
}
