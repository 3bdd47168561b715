import type { Io } from '../io.js';
import type { ApiClient, Target } from '../session/api-client.js';
import { loadLogin, type Login } from '../session/login-store.js';

/** Runs something against the server of the stored login. */
export async function withApi<T>(io: Io, use: (api: ApiClient, login: Login) => Promise<T>): Promise<T> {
  const login = await loadLogin(io.config.home);
  await using api = await connect(io, login);
  return await use(api, login);
}

/** A client for a server. The HTTP stack is loaded only now: kubectl runs `credential` each time, which needs none. */
export async function connect(io: Io, target: Target): Promise<ApiClient> {
  const { apiClient } = await import('../session/api-client.js');
  return apiClient({ ...target, proxy: io.config.proxy });
}
