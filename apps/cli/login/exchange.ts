import { z } from 'zod';
import type { ApiClient } from '../session/api-client.js';
import { LoginOptions, LoginSecrets, type LoginOption } from '../session/answers.js';

/** What the API gives a token of its own for. All but the issuer's name are secrets, so they are in the body. */
export interface Proof {
  readonly issuer: string;
  /** The ID token. */
  readonly token: string;
  readonly nonceVerifier?: string;
  /** Of the login that is renewed. */
  readonly session?: string;
}

/** Where people of a tenant can log in; none where the server is older than that. */
export async function loginOptions(api: ApiClient, tenant: string | undefined): Promise<readonly LoginOption[]> {
  const query = tenant === undefined ? '' : `?${new URLSearchParams({ tenant }).toString()}`;
  const { issuers } = await api.ask(LoginOptions, `/v1/login-options${query}`, { authenticated: false });
  return issuers;
}

/** A token of ours for an ID token. UNAUTHENTICATED if the server does not take it. */
export function exchange(api: ApiClient, proof: Proof): Promise<LoginSecrets> {
  return api.ask(LoginSecrets, '/v1/logins', { method: 'POST', body: proof, authenticated: false });
}

/** Ends a login with all its tokens, whether or not the one that is stored has ended. */
export async function endLogin(api: ApiClient, session: string): Promise<void> {
  await api.ask(z.null(), '/v1/logins/end', { method: 'POST', body: { session }, authenticated: false });
}
