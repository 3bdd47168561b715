import { createHash, randomBytes } from 'node:crypto';
import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
import { failure } from '../failure.js';
import type { Io } from '../io.js';
import { printNotice } from '../output/print.js';
import type { LoginOption } from '../session/answers.js';
import { explainIssuer, pageOf, type IssuerConnection, type IssuerTokens } from './issuer-connection.js';
import { listenOnLoopback } from './loopback.js';

/** As long as a person may take. */
const PATIENCE_MS = 5 * 60_000;

export interface BrowserLogin extends IssuerTokens {
  /** What the nonce in the ID token was made of: only who began this login knows it. */
  readonly nonceVerifier: string;
}

interface BrowserOptions {
  /** False: the address is only shown. */
  readonly open: boolean;
  /** Default five minutes. */
  readonly patienceMs?: number | undefined;
}

/**
 * A login in the browser: authorization code with PKCE (RFC 7636) on a loopback redirect (RFC 8252). FORBIDDEN if the issuer refuses or somebody
 * says no, DEADLINE_EXCEEDED if nobody answers.
 */
export async function logInByBrowser(
  io: Io,
  option: LoginOption,
  { config }: IssuerConnection,
  { open, patienceMs = PATIENCE_MS }: BrowserOptions,
): Promise<BrowserLogin> {
  const [state, pkceCodeVerifier, nonceVerifier] = [randomState(), randomPKCECodeVerifier(), randomSecret()];
  const nonce = createHash('sha256').update(nonceVerifier).digest('base64url');
  await using loopback = await listenOnLoopback(state, () => printNotice(io, FOREIGN_STATE));
  const parameters = {
    redirect_uri: loopback.redirectUri,
    scope: option.scopes.join(' '),
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    // Without it an issuer leaves offline access out (OpenID Connect Core, 11).
    ...(option.scopes.includes('offline_access') ? { prompt: 'consent' } : {}),
  };
  const url = pageOf(option, buildAuthorizationUrl(config, parameters).href);
  await show(io, option, url, open);
  const answer = await answerWithin(patienceMs, (signal) => loopback.answer(signal));
  const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier, idTokenExpected: true };
  const tokens = await authorizationCodeGrant(config, answer, checks).catch((error: unknown) => {
    throw explainIssuer(option, error);
  });
  return { idToken: tokens.id_token ?? '', refreshToken: tokens.refresh_token, nonceVerifier };
}

const FOREIGN_STATE =
  'a page answered that does not belong to this login: it was turned away, and this goes on waiting for the right one';

async function show(io: Io, { name }: LoginOption, url: string, open: boolean): Promise<void> {
  const opened = open && (await io.openBrowser(url));
  printNotice(
    io,
    opened
      ? `opening the browser to log in at ${name}; if it does not come up, open this there:`
      : `log in at ${name}, in a browser on this machine:`,
    '',
    `  ${url}`,
    '',
  );
}

async function answerWithin(patienceMs: number, wait: (signal: AbortSignal) => Promise<URL>): Promise<URL> {
  const signal = AbortSignal.timeout(patienceMs);
  try {
    return await wait(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    throw failure('DEADLINE_EXCEEDED', 'nobody logged in within the time', 'fairlead login', error);
  }
}

function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}
