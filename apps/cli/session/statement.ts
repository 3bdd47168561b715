import { FairleadError } from '@fairlead/errors';
import type { Io } from '../io.js';
import { printNotice } from '../output/print.js';
import { connect } from './connect.js';
import type { Login } from './login-store.js';
import { clusterPath } from './paths.js';
import { findStatement, keepStatement, noteAsker, type KeptStatement } from './statement-store.js';

/** What is granted meanwhile is seen after this, unless a door says so before. */
const FRESH_MS = 60_000;
/** kubectl waits for it, and a door decides without it where the cluster lets it. */
const ASK_TIMEOUT_MS = 4_000;
/** After the server could not be asked. */
const RETRY_MS = 30_000;
/** One that has less left is as good as none: the request is still to be sent. */
const SPARE_MS = 5_000;

/** Behind a token; `openUntil`: its end. */
export interface Statement {
  readonly statement: string;
  readonly openUntil: string;
}

/**
 * The signed access statement to go with the token of this login in a cluster. It is fetched anew once a minute, and whenever the process that asks was told
 * what is kept before: a door has refused that. While the server cannot be asked, what is kept is good until its end. Undefined: there is none, and the door or
 * the cluster says what that means. UNAUTHENTICATED if the server refuses the token.
 */
export async function currentStatement(io: Io, login: Login, cluster: string): Promise<Statement | undefined> {
  const { home } = io.config;
  const kept = await findStatement(home, login, cluster);
  const asker = await noteAsker(home, login, cluster, io.parentPid);
  const nowMs = io.now().getTime();
  if (kept && isGoodFor(kept, asker, nowMs)) return statementOf(kept, nowMs);
  const fetched = await fetchStatement(io, login, cluster, kept);
  await keepStatement(home, login, cluster, fetched);
  return statementOf(fetched, nowMs);
}

function isGoodFor(kept: KeptStatement, asker: 'again' | 'first', nowMs: number): boolean {
  if (kept.retryAt !== undefined && nowMs < Date.parse(kept.retryAt)) return true;
  if (asker === 'again') return false;
  const askedMs = Date.parse(kept.askedAt);
  const isFresh = askedMs <= nowMs && nowMs < askedMs + FRESH_MS;
  return isFresh && (kept.statement === undefined || statementOf(kept, nowMs) !== undefined);
}

function statementOf({ statement, openUntil }: KeptStatement, nowMs: number): Statement | undefined {
  if (statement === undefined || openUntil === undefined) return undefined;
  return Date.parse(openUntil) - SPARE_MS > nowMs ? { statement, openUntil } : undefined;
}

/** What is to be kept from now on. */
async function fetchStatement(
  io: Io,
  login: Login,
  cluster: string,
  kept: KeptStatement | undefined,
): Promise<KeptStatement> {
  const askedAt = io.now().toISOString();
  try {
    const [{ Credential }, connected] = await Promise.all([import('./credential-answer.js'), connect(io, login)]);
    await using api = connected;
    const asked = { method: 'POST', body: {}, deadlineMs: ASK_TIMEOUT_MS } as const;
    const { statement, openUntil } = await api.ask(Credential, `${clusterPath(cluster)}/credential`, asked);
    return { askedAt, statement, openUntil };
  } catch (error) {
    if (!(error instanceof FairleadError) || error.code === 'UNAUTHENTICATED') throw error;
    return withoutNew(io, error, askedAt, kept);
  }
}

/**
 * What becomes of a refusal. What the doors refuse as well, they say better: kubectl shows it. What a statement cannot say is said here, because whatever
 * does not need one goes on.
 */
function withoutNew(io: Io, error: FairleadError, askedAt: string, kept: KeptStatement | undefined): KeptStatement {
  if (error.code === 'NOT_FOUND' || error.code === 'FORBIDDEN') return { askedAt };
  if (error.code === 'TOO_LARGE' || error.code === 'PROTOCOL_ERROR') {
    printNotice(io, `without an access statement: ${error.message}`);
    return { askedAt };
  }
  const nowMs = io.now().getTime();
  const retryAt = new Date(nowMs + RETRY_MS).toISOString();
  const still = kept && statementOf(kept, nowMs);
  const until = still
    ? `the access statement of before is good until ${still.openUntil}`
    : 'without an access statement';
  printNotice(io, `${until}: ${error.message}`);
  return { ...kept, askedAt: kept?.askedAt ?? askedAt, retryAt };
}
