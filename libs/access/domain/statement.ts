import { MAX_STATEMENT_BYTES, MAX_TOKEN_STATEMENT_MS, type AccessStatement } from '@fairlead/access-statement';
import type { AccessRule } from '@fairlead/access-rules';
import {
  isApiRole,
  isInForce,
  MAX_LOGIN_STREAM_MS,
  type ClusterEntry,
  type Grant,
  type Principal,
} from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { ruleOf } from './grant.js';

const MINUTE_MS = 60_000;
/** Of whoever fetches the next one by itself: a gateway in wrong hands has it for no longer. */
const RENEWED_MS = 30 * MINUTE_MS;
/** How long it opens connections: unless it is said, and at most. Only the administrator's is kept for a day when nobody signs: the longer, the louder it is asked for. */
const OPEN_MS = {
  login: { usual: RENEWED_MS, most: RENEWED_MS },
  workload: { usual: RENEWED_MS, most: RENEWED_MS },
  token: { usual: MAX_TOKEN_STATEMENT_MS, most: MAX_TOKEN_STATEMENT_MS },
  administrator: { usual: RENEWED_MS, most: MAX_TOKEN_STATEMENT_MS },
} as const;
const MAX_RULES = 64;

export interface AskedStatement {
  readonly principal: Principal;
  readonly cluster: Pick<ClusterEntry, 'clusterId' | 'name'>;
  /** Of theirs, those that mean the cluster, now or later. */
  readonly grants: readonly Grant[];
  /** How long it is to open connections, at most. */
  readonly seconds?: number | undefined;
  readonly now: Date;
}

/**
 * What somebody may do in a cluster from now on, until that changes by itself: with the first grant that ends, or the first denial that begins.
 * NOT_FOUND, in the words for a cluster that is not there, if they have been granted nothing in it; TOO_LARGE for more than a statement can say.
 */
export function statementFor({ principal, cluster, grants, seconds, now }: AskedStatement): AccessStatement {
  const { tenantId, tokenId, kind, user } = principal;
  const nowMs = now.getTime();
  const rules = kind === 'administrator' ? [everything(principal)] : rulesOf(grants, nowMs);
  if (!rules.some(({ effect }) => effect === 'allow')) {
    throw new FairleadError('NOT_FOUND', `there is no cluster named ${cluster.name}`);
  }
  const changeMs = Math.min(...grants.flatMap((grant) => changesOf(grant, nowMs)));
  const tokenEndMs = principal.expiresAt === null ? Infinity : Date.parse(principal.expiresAt);
  const openMs = Math.min(nowMs + openMsOf(kind, seconds), changeMs, tokenEndMs);
  const streamsMs = kind === 'token' ? openMs : Math.min(nowMs + MAX_LOGIN_STREAM_MS, changeMs);
  const statement: AccessStatement = {
    version: 1,
    tenantId,
    clusterId: cluster.clusterId,
    tokenId,
    kind,
    user,
    rules,
    notBefore: now.toISOString(),
    openUntil: new Date(openMs).toISOString(),
    streamsUntil: new Date(Math.max(openMs, streamsMs)).toISOString(),
    serial: crypto.randomUUID(),
  };
  const isTooLarge = rules.length > MAX_RULES || Buffer.byteLength(JSON.stringify(statement)) > MAX_STATEMENT_BYTES;
  if (!isTooLarge) return statement;
  const limit = `${MAX_RULES} grants and ${MAX_STATEMENT_BYTES} bytes`;
  throw new FairleadError('TOO_LARGE', `your grants in "${cluster.name}" are more than a statement can say: ${limit}`);
}

function openMsOf(kind: Principal['kind'], seconds: number | undefined): number {
  const { usual, most } = OPEN_MS[kind];
  return seconds === undefined ? usual : Math.min(seconds * 1_000, most);
}

/** The way in when all else is away needs no grant. */
function everything({ tokenId, groups }: Principal): AccessRule {
  return { grantId: tokenId, effect: 'allow', groups: [...groups], narrowing: {} };
}

function rulesOf(grants: readonly Grant[], nowMs: number): AccessRule[] {
  return grants.filter((grant) => isInForce(grant, nowMs)).flatMap((grant) => ruleOf(grant) ?? []);
}

/** When a statement by this grant would not be true any more. */
function changesOf({ effect, role, notBefore, expiresAt }: Grant, nowMs: number): number[] {
  if (isApiRole(role)) return [];
  const begins = effect === 'deny' && notBefore !== null ? [Date.parse(notBefore)] : [];
  const ends = expiresAt === null ? [] : [Date.parse(expiresAt)];
  return [...begins, ...ends].filter((timeMs) => timeMs > nowMs);
}
