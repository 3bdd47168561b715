import { initiateDeviceAuthorization, pollDeviceAuthorizationGrant } from 'openid-client';
import { z } from 'zod';
import { failure } from '../failure.js';
import type { Io } from '../io.js';
import { printNotice } from '../output/print.js';
import type { LoginOption } from '../session/answers.js';
import { explainIssuer, pageOf, type IssuerConnection, type IssuerTokens } from './issuer-connection.js';

/** However long the issuer's code lasts. */
const PATIENCE_MS = 15 * 60_000;

const Shown = z.object({
  user_code: z.string().min(1).max(64),
  verification_uri: z.string().max(2_048),
  verification_uri_complete: z.string().max(2_048).optional(),
});

/**
 * A login in a browser anywhere: device authorization (RFC 8628). The issuer is asked as seldom as it wants. UNAUTHENTICATED if somebody says no or
 * the code ends, DEADLINE_EXCEEDED after a quarter of an hour.
 */
export async function logInByDevice(io: Io, option: LoginOption, { config }: IssuerConnection): Promise<IssuerTokens> {
  if (config.serverMetadata().device_authorization_endpoint === undefined) {
    throw failure('NOT_FOUND', `${option.name} gives no codes for devices`, 'fairlead login, where there is a browser');
  }
  const signal = AbortSignal.timeout(PATIENCE_MS);
  try {
    const begun = await initiateDeviceAuthorization(config, { scope: option.scopes.join(' ') });
    show(io, option, begun);
    const tokens = await pollDeviceAuthorizationGrant(config, begun, undefined, { signal });
    if (tokens.id_token === undefined) throw noIdToken(option);
    return { idToken: tokens.id_token, refreshToken: tokens.refresh_token };
  } catch (error) {
    if (!signal.aborted) throw explainIssuer(option, error);
    throw failure('DEADLINE_EXCEEDED', 'nobody logged in within the time', 'fairlead login', error);
  }
}

function show(io: Io, option: LoginOption, begun: unknown): void {
  const shown = Shown.safeParse(begun);
  if (!shown.success)
    throw failure('PROTOCOL_ERROR', `${option.name} gives a code that cannot be shown`, 'fairlead login');
  const { user_code: code, verification_uri: page, verification_uri_complete: whole } = shown.data;
  printNotice(
    io,
    `log in at ${option.name}, in any browser: open ${pageOf(option, page)} and enter the code`,
    '',
    `  ${code}`,
    '',
    ...(whole === undefined ? [] : [`or open ${pageOf(option, whole)} and compare the code there`]),
    'Only if it was you who began this. Waiting …',
  );
}

function noIdToken({ name }: LoginOption): Error {
  return failure(
    'PROTOCOL_ERROR',
    `${name} gives no ID token`,
    'ask for the scope openid in the settings of the issuer',
  );
}
