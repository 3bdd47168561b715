import { FairleadError, messageOf } from '@fairlead/errors';
import { connect } from '../session/connect.js';
import type { Io } from '../io.js';
import type { IssuedLogin, Login } from '../session/login-store.js';
import { endLogin } from './exchange.js';
import { revokeAtIssuer } from './issuer-renewal.js';

/** Ends a login at the server and at the issuer, one whether or not the other can be reached; says what could not be ended, and why. */
export async function endEverywhere(io: Io, login: Login, issued: IssuedLogin): Promise<readonly string[]> {
  const { issuer, refreshToken } = issued;
  const [here, there] = await Promise.allSettled([
    endAtServer(io, login, issued),
    refreshToken === undefined ? undefined : revokeAtIssuer(issuer, refreshToken, io.config.proxy),
  ]);
  return [
    ...(here.status === 'rejected'
      ? [`it ends at ${login.server} only ${issued.expiresAt}: ${messageOf(here.reason)}`]
      : []),
    ...(there.status === 'rejected' ? [`${issuer.name} was not told: ${messageOf(there.reason)}`] : []),
  ];
}

async function endAtServer(io: Io, login: Login, { session }: IssuedLogin): Promise<void> {
  await using api = await connect(io, login);
  await endLogin(api, session).catch((error: unknown) => {
    // It ended before.
    if (!(error instanceof FairleadError) || error.code !== 'NOT_FOUND') throw error;
  });
}
