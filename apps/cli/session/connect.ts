import type { Io } from '../io.js';
import type { ApiClient, Target } from './api-client.js';

/** A client for a server. The HTTP stack is loaded only now: kubectl runs `credential` each time, which needs none. */
export async function connect(io: Io, target: Target): Promise<ApiClient> {
  const { apiClient } = await import('./api-client.js');
  return apiClient({ ...target, proxy: io.config.proxy, tenant: io.config.tenant });
}
