import { FairleadError } from '@fairlead/errors';
import { failure, usage } from '../failure.js';
import type { Io } from '../io.js';
import { printNotice } from '../output/print.js';
import type { ApiClient } from '../session/api-client.js';
import type { LoginOption } from '../session/answers.js';
import type { IssuedLogin, KnownIssuer } from '../session/login-store.js';
import { logInByBrowser } from './by-browser.js';
import { logInByDevice } from './by-device.js';
import { exchange, loginOptions } from './exchange.js';
import { connectIssuer, type IssuerConnection } from './issuer-connection.js';

export interface LogInOptions {
  /** Whose issuers; default: the default tenant's. */
  readonly tenant?: string | undefined;
  /** By its name; not needed where there is one. */
  readonly issuer?: string | undefined;
  /** True: by a code, also where there is a browser. */
  readonly device?: boolean | undefined;
}

/** Our token, whose it is, and what renews it. */
export interface LoggedIn {
  readonly token: string;
  readonly user: string;
  readonly issued: IssuedLogin;
}

/** The issuer that somebody logs in at. NOT_FOUND if there is none of the name, usage error if there are several; undefined if there are none at all. */
export async function chooseIssuer(
  api: ApiClient,
  { issuer: name, tenant }: Pick<LogInOptions, 'issuer' | 'tenant'>,
): Promise<LoginOption | undefined> {
  const options = await optionsOf(api, tenant);
  const named = options.find((option) => option.name === name);
  if (named) return named;
  const names = options.map((option) => option.name).join(', ');
  if (name !== undefined) {
    const next = names === '' ? 'log in with an API token: --token-file' : `use one of: ${names}`;
    throw failure('NOT_FOUND', `nobody logs in at ${name} here`, next);
  }
  const [only, ...others] = options;
  if (others.length > 0) throw usage('there are several issuers to log in at', `add --issuer, one of: ${names}`);
  return only;
}

/** Logs in at an issuer, by the browser or by a code, and has the API give a token for that. */
export async function logIn(io: Io, api: ApiClient, option: LoginOption, { device }: LogInOptions): Promise<LoggedIn> {
  const issuer: KnownIssuer = {
    name: option.name,
    url: option.url,
    clientId: option.clientId,
    ...(option.certificateAuthority === null ? {} : { certificateAuthority: option.certificateAuthority }),
  };
  await using connection = await connectIssuer(issuer, io.config.proxy);
  const { idToken, refreshToken, ...begun } = await tokensOf(io, option, connection, device);
  const secrets = await exchange(api, { issuer: issuer.name, token: idToken, ...begun });
  const { token, user, expiresAt, session, sessionEndsAt } = secrets;
  if (session === null || sessionEndsAt === null) {
    throw failure('PROTOCOL_ERROR', 'the server gave a token without a session', 'update this command');
  }
  const renewable = refreshToken === undefined ? {} : { refreshToken };
  const obtainedAt = io.now().toISOString();
  return { token, user, issued: { issuer, obtainedAt, expiresAt, session, sessionEndsAt, ...renewable } };
}

async function optionsOf(api: ApiClient, tenant: string | undefined): Promise<readonly LoginOption[]> {
  try {
    return await loginOptions(api, tenant);
  } catch (error) {
    // An older server has no such path.
    if (error instanceof FairleadError && error.code === 'NOT_FOUND') return [];
    throw error;
  }
}

function tokensOf(io: Io, option: LoginOption, connection: IssuerConnection, device = false) {
  const byCode = device || (!io.config.display && option.deviceCode);
  if (byCode && !option.deviceCode) {
    throw failure(
      'FORBIDDEN',
      `logins by code are not allowed at ${option.name}`,
      'fairlead login, where there is a browser',
    );
  }
  if (byCode) return logInByDevice(io, option, connection);
  if (!io.config.display)
    printNotice(io, 'no display: a browser elsewhere needs the port of this address forwarded to here (ssh -L)');
  return logInByBrowser(io, option, connection, { open: io.config.display });
}
