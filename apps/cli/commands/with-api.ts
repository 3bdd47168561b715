import type { Io } from '../io.js';
import type { ApiClient } from '../session/api-client.js';
import { connect } from '../session/connect.js';
import { currentLogin } from '../session/current-login.js';
import type { Login } from '../session/login-store.js';

/** Runs something against the server of the stored login, which is renewed first if it is time. */
export async function withApi<T>(io: Io, use: (api: ApiClient, login: Login) => Promise<T>): Promise<T> {
  const login = await currentLogin(io);
  await using api = await connect(io, login);
  return await use(api, login);
}
