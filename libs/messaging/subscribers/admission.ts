import { decode, encodeAuthorizationResponse, encodeUser } from '@nats-io/jwt';
import { fromPublic, type KeyPair } from '@nats-io/nkeys';
import { z } from 'zod';
import { SUBSCRIBERS_ACCOUNT, subscriberPermissions } from './subscriber-rights.js';

/** What nats-server tells of a connection of which it does not know whose it is. https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-26.md */
const Asked = z.object({
  aud: z.literal('nats-authorization-request'),
  nats: z.object({
    server_id: z.object({ id: z.string().regex(/^N[A-Z2-7]{55}$/) }),
    user_nkey: z.string().regex(/^U[A-Z2-7]{55}$/),
    client_info: z.object({ kind: z.string().max(32), nonce: z.string().min(8).max(256) }),
    connect_opts: z.object({ nkey: z.string().regex(/^U[A-Z2-7]{55}$/), sig: z.string().min(64).max(128) }),
  }),
});
type Asked = z.infer<typeof Asked>['nats'];

/** A client's own connections; not a server's that would bring others along. */
const CLIENT = 'Client';
/** What a subscriber sends is short: a request for messages, an acknowledgement. */
const LIMITS = { payload: 8 * 1024, subs: 64, data: -1 };
/**
 * For so long a connection is let in; then the server closes it, and asks again when the client comes back. Whoever is none any more is cut off at once; this is for while nobody is there who
 * does that. An hour, since clients that come back go on where they were, and some give up if they are refused once or twice.
 */
export const CONNECTION_SECONDS = 3_600;

export interface Admitted {
  readonly subscriberId: string;
  readonly publicKey: string;
}

/** Whose key it is; undefined: nobody's. */
export type KnownKeys = (publicKey: string) => string | undefined;

/** Who asks to be let in, if it is one of those that are known and has its key. Null: it is not, or the request is none. */
export function readAdmission(request: string, known: KnownKeys): { asked: Asked; admitted: Admitted } | null {
  const asked = readRequest(request);
  if (asked?.client_info.kind !== CLIENT) return null;
  const { nkey: publicKey, sig } = asked.connect_opts;
  // First whether it is known at all: of unknown ones there may be many, and a signature costs.
  const subscriberId = known(publicKey);
  if (subscriberId === undefined || !proves(publicKey, asked.client_info.nonce, sig)) return null;
  return { asked, admitted: { subscriberId, publicKey } };
}

/** The answer by which nats-server lets it in for `seconds`, under its public key as its name, with the rights of a subscriber. */
export async function admit(
  issuer: KeyPair,
  asked: Asked,
  { subscriberId, publicKey }: Admitted,
  seconds: number,
): Promise<string> {
  const { publish, subscribe } = subscriberPermissions(subscriberId, publicKey);
  const user = fromPublic(asked.user_nkey);
  const rights = { pub: { allow: publish, deny: [] }, sub: { allow: subscribe, deny: [] }, ...LIMITS };
  const exp = Math.ceil(Date.now() / 1_000) + seconds;
  const jwt = await encodeUser(publicKey, user, issuer, rights, { aud: SUBSCRIBERS_ACCOUNT, exp });
  return encodeAuthorizationResponse(user, fromPublic(asked.server_id.id), issuer, { jwt }, {});
}

function readRequest(request: string): Asked | null {
  try {
    const read = Asked.safeParse(decode(request));
    return read.success ? read.data.nats : null;
  } catch {
    return null;
  }
}

function proves(publicKey: string, nonce: string, signature: string): boolean {
  try {
    return fromPublic(publicKey).verify(new TextEncoder().encode(nonce), Buffer.from(signature, 'base64'));
  } catch {
    return false;
  }
}
