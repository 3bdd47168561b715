import { FairleadError } from '@fairlead/errors';
import { connect } from '../session/connect.js';
import { failure } from '../failure.js';
import type { Io } from '../io.js';
import { printNotice } from '../output/print.js';
import type { LoginSecrets } from '../session/answers.js';
import { withLoginLock } from '../session/login-lock.js';
import { loadLogin, saveLogin, type IssuedLogin, type Login } from '../session/login-store.js';
import { isAlive, renewalOf } from '../session/renewal.js';
import { exchange } from './exchange.js';
import { isRefused } from './issuer-connection.js';
import { refreshAtIssuer } from './issuer-renewal.js';

/** After a renewal that failed; for the second, the token has ended, and somebody waits. */
const RETRY_MS = { alive: 30_000, ended: 3_000 };

/** A login by an issuer. */
type Issued = Login & { readonly issued: IssuedLogin };

/**
 * The login with a new token, had for the issuer's refresh token and kept. Of many processes at once one has it, and the others go on with the
 * token that there is, or wait. As long as that token lasts, a renewal that fails is said and no error. UNAUTHENTICATED if nothing but another login
 * helps, UNAVAILABLE if it may be otherwise in a moment.
 */
export async function renewLogin(io: Io, seen: Login): Promise<Login> {
  const whenBusy = isAlive(seen, io.now()) ? 'give-up' : 'wait';
  const renewed = await withLoginLock(io.config.home, whenBusy, () => renewIfDue(io));
  return renewed ?? seen;
}

async function renewIfDue(io: Io): Promise<Login> {
  // Somebody else may have renewed it, or logged in anew, while this one waited.
  const login = await loadLogin(io.config.home);
  const renewal = renewalOf(login, io.now());
  if (renewal === 'keep' || !isIssued(login)) return login;
  if (renewal === 'ended') throw ended(login, 'it cannot be renewed any more');
  if (renewal === 'wait') throw cannotRenew(login, 'that failed a moment ago');
  try {
    return await renew(io, login);
  } catch (error) {
    return await withoutNewToken(io, error);
  }
}

async function renew(io: Io, login: Issued): Promise<Login> {
  const { issuer, refreshToken = '', session } = login.issued;
  const fresh = await refreshAtIssuer(issuer, refreshToken, io.config.proxy);
  // At once: where the old one is worth nothing by now, a crash would end the login.
  const kept = await keep(io, login, { refreshToken: fresh.refreshToken ?? refreshToken });
  await using api = await connect(io, kept);
  const secrets = await exchange(api, { issuer: issuer.name, token: fresh.idToken, session });
  return keep(io, { ...kept, token: secrets.token, user: secrets.user }, timesOf(io, kept.issued, secrets));
}

function timesOf(io: Io, { sessionEndsAt }: IssuedLogin, secrets: LoginSecrets): Partial<IssuedLogin> {
  return {
    obtainedAt: io.now().toISOString(),
    expiresAt: secrets.expiresAt,
    sessionEndsAt: secrets.sessionEndsAt ?? sessionEndsAt,
    retryAt: undefined,
  };
}

/** What was written last is what counts: a new refresh token may have come before the failure. */
async function withoutNewToken(io: Io, error: unknown): Promise<Login> {
  const login = await loadLogin(io.config.home);
  if (!(error instanceof FairleadError) || !isIssued(login)) throw error;
  const alive = isAlive(login, io.now());
  const isOver = isRefused(error) || error.code === 'UNAUTHENTICATED';
  const retryAt = new Date(io.now().getTime() + (alive ? RETRY_MS.alive : RETRY_MS.ended)).toISOString();
  const kept = await keep(io, login, isOver ? { refreshToken: undefined } : { retryAt });
  if (!alive) throw isOver ? ended(login, error.message) : cannotRenew(login, error.message);
  printNotice(io, `the login was not renewed, and ends ${login.issued.expiresAt}: ${error.message}`);
  return kept;
}

async function keep(io: Io, login: Issued, change: Partial<IssuedLogin>): Promise<Issued> {
  const changed = { ...login, issued: { ...login.issued, ...change } };
  await saveLogin(io.config.home, changed);
  return changed;
}

function isIssued(login: Login): login is Issued {
  return login.issued !== undefined;
}

function ended({ server, issued }: Issued, why: string): FairleadError {
  const what = `your login to ${server} ended ${issued.expiresAt}: ${why}`;
  return failure('UNAUTHENTICATED', what, `fairlead login --issuer ${issued.issuer.name}`);
}

function cannotRenew({ server }: Issued, why: string): FairleadError {
  return failure(
    'UNAVAILABLE',
    `your login to ${server} cannot be renewed now: ${why}`,
    'try again, or: fairlead login',
  );
}
