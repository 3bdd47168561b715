import type { Io } from '../io.js';
import { apiClient, type ApiClient } from '../session/api-client.js';
import { loadLogin, type Login } from '../session/login-store.js';

/** Runs something against the server of the stored login. */
export async function withApi<T>(io: Io, use: (api: ApiClient, login: Login) => Promise<T>): Promise<T> {
  const login = await loadLogin(io.config.home);
  await using api = apiClient(login);
  return await use(api, login);
}
