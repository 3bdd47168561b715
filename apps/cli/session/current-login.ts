import type { Io } from '../io.js';
import { loadLogin, type Login } from './login-store.js';
import { renewalOf } from './renewal.js';

/** The stored login, renewed first if it is time. UNAUTHENTICATED if there is none, or it has ended; UNAVAILABLE if it cannot be renewed now. */
export async function currentLogin(io: Io, stored?: Login): Promise<Login> {
  const login = stored ?? (await loadLogin(io.config.home));
  if (renewalOf(login, io.now()) === 'keep') return login;
  // Loaded only here: kubectl runs `credential` each time, which mostly needs none of it.
  const { renewLogin } = await import('../login/renew-login.js');
  return renewLogin(io, login);
}
