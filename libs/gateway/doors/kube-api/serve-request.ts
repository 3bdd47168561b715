import type { StatementVerifier } from '@fairlead/access-statement';
import type { AccessEntry } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { headerValues, kubeRoute, type AskedHost } from '@fairlead/kube-http';
import { limitKey } from '../../limits/limit-key.js';
import { auditedUri } from '../../audit/audited-uri.js';
import type { Directory } from '../../directory.js';
import type { ConnectionShares } from '../../limits/connection-shares.js';
import type { DoorPassages } from '../../passage/door-passages.js';
import type { Asked, Ending } from '../../passage/outcome.js';
import type { Passage, Registered } from '../../passage/passage.js';
import { addressOf, askedHostOf, arrivalOf } from './addressed.js';
import { authenticate, decideAdmission, hasLapsed, whyShutOut, type Admission } from './admission.js';
import { carriedStatement, identityAtAgent } from './carried-statement.js';
import { diallerOf } from './door-connections.js';
import { breakOff, forward } from './forward.js';
import { answerFailure } from './refuse.js';
import type { DoorRequest, DoorResponse } from './door-request.js';
import { connectionOf } from './request-rest.js';
import { attributesOf, subjectOfRequest } from './subject-of.js';
import type { TunnelPools } from './tunnel-pools.js';

/** What one request needs of its door. */
export interface KubeApiContext {
  readonly directory: Directory;
  readonly pool: TunnelPools;
  readonly statements: StatementVerifier;
  readonly passages: DoorPassages;
  /** Below which each cluster has a host name; undefined: nowhere. */
  readonly clusterDomain?: string | undefined;
  readonly connections: ConnectionShares;
}

/** One request, from its head to the end of its answer. Rejects only for a fault of ours. */
export function serveRequest(context: KubeApiContext, incoming: DoorRequest, outgoing: DoorResponse): Promise<void> {
  incoming.on('error', () => undefined);
  outgoing.on('error', () => undefined);
  const host = askedHostOf(incoming, context.clusterDomain);
  return context.passages.pass(
    arrivalOf(incoming, diallerOf(incoming), host),
    (passage) => carry(context, passage, { incoming, outgoing, host }),
    (passage, failed) => answerFailure(passage, failed, context.connections, incoming, outgoing),
  );
}

interface Requested {
  readonly incoming: DoorRequest;
  readonly outgoing: DoorResponse;
  readonly host: AskedHost;
}

async function carry(
  context: KubeApiContext,
  passage: Passage,
  { incoming, outgoing, host }: Requested,
): Promise<Ending> {
  const { directory, pool, statements } = context;
  const admission = admitRequest(context, passage, incoming, host);
  const bytes = { up: 0, down: 0 };
  const ends = { ending: new AbortController(), leaving: new AbortController() };
  passage.register({ bytes: () => bytes, ...inRegistry(directory, admission, incoming, outgoing, ends) });
  const statement = await carriedStatement(statements, incoming.rawHeaders, admission);
  const onRecord = passage.letGo();
  if (onRecord) await onRecord;
  if (outgoing.destroyed) throw new FairleadError('TUNNEL_RESET', 'the client went away');
  const tunnels = pool.poolFor(admission.cluster, identityAtAgent(admission, statement), statement);
  const [signal, leaving] = [ends.ending.signal, ends.leaving.signal];
  const status = await forward({ incoming, outgoing, admission, passage, tunnels, bytes, signal, leaving });
  return { kind: 'answered', status };
}

/**
 * Who asks, and for what: the passage of a request, or of an upgrade, up to where it may go on. Throws what it is refused for, as `authenticate`,
 * `addressOf`, `decideAdmission` and the limits do. `streamOf`: what an upgrade asks for, which is on record whether or not it is let in.
 */
export function admitRequest(
  context: KubeApiContext,
  passage: Passage,
  incoming: DoorRequest,
  host: AskedHost,
  streamOf: (target: string) => Pick<Asked, 'stream'> = () => ({}),
): Admission {
  const { directory, connections } = context;
  const nowMs = Date.now();
  const { rawHeaders, method = '' } = incoming;
  const principal = authenticate(directory, rawHeaders, nowMs);
  const { tenantId, user, tokenId, kind } = principal;
  const proof = { kind: 'token', id: tokenId, of: kind } as const;
  const groups = groupsOf(principal);
  passage.identify({ kind: 'user', id: user, name: user, tenantId, proof, groups, session: principal.sessionId });
  const address = addressOf(host, incoming.url ?? '/');
  assertInCapitals(method);
  const attributes = attributesOf(method, address.target, headerValues(rawHeaders, 'content-type'));
  passage.ask({ attributes, uri: auditedUri(address.target, attributes), ...streamOf(address.target) });
  const named = directory.clusterByName(address.cluster);
  if (named?.tenantId === tenantId) passage.ask({ clusterId: named.clusterId });
  const asked = { method, address, rawHeaders, attributes };
  const admission = decideAdmission(directory, principal, asked, nowMs, (on) => passage.decided(on));
  const connection = connectionOf(incoming);
  // One user alone could take all that the port has.
  if (connection) connections.admit(connection, diallerOf(incoming), limitKey(tenantId, user));
  const route = `${address.below === '' ? '' : '/clusters/{cluster}'}${kubeRoute(address.target)}`;
  passage.span.rename(`${method} ${route}`);
  passage.ask({ route });
  passage.admit(admission.cluster);
  // What waits for a tunnel is bounded with what runs.
  passage.limit({ waits: false });
  return admission;
}

/**
 * HTTP/2 carries any word, and Node's client, which takes it on, writes it in capitals: what is decided about, and put on record, would be another request than what is
 * sent. Nobody is let off, not even who needs no grant, for whom a request that cannot be read goes on.
 */
function assertInCapitals(method: string): void {
  if (method !== method.toUpperCase())
    throw new FairleadError('INVALID_ARGUMENT', 'the method of a request is written in capitals: GET, and not get');
}

/** What their issuer says, and what their token is good for. */
function groupsOf({ groups, subjectGroups }: AccessEntry): readonly string[] {
  return groups.length === 0 ? subjectGroups : [...new Set([...groups, ...subjectGroups])];
}

/** How what goes on because of a decision is decided about again and again. */
export function lookedAtAgain(
  directory: Directory,
  admission: Admission,
): Required<Pick<Registered, 'refusedNow' | 'lapsedNow'>> {
  return {
    refusedNow: () => whyShutOut(directory, admission, Date.now()),
    lapsedNow: () => hasLapsed(directory, admission, Date.now()),
  };
}

function inRegistry(
  directory: Directory,
  admission: Admission,
  incoming: DoorRequest,
  outgoing: DoorResponse,
  { ending, leaving }: Readonly<Record<'ending' | 'leaving', AbortController>>,
): Omit<Registered, 'bytes'> {
  return {
    subject: () => subjectOfRequest(incoming.method ?? '', admission),
    heldBytes: () => incoming.readableLength + (outgoing.writableLength ?? 0),
    ...lookedAtAgain(directory, admission),
    end: (cause) => {
      // The client must see that an answer is not whole; one that has not begun can still say why.
      if (outgoing.headersSent) breakOff(outgoing);
      else ending.abort(cause);
      // One that is complete has left its HTTP/1.1 connection to the rest of the request.
      if (outgoing.headersSent && incoming.httpVersionMajor < 2) incoming.destroy();
    },
    leave: (cause) => {
      // HTTP/1.1 has no words for an answer that is not whole; one that has not begun may still come by another way.
      if (!outgoing.headersSent || incoming.httpVersionMajor < 2) return false;
      leaving.abort(cause);
      return true;
    },
  };
}
