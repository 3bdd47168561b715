import { commaList, hostPort, loadConfig } from '@fairlead/config';
import { CredentialName } from '@fairlead/contracts';
import { z } from 'zod';

const Environment = z.object({
  FAIRLEAD_NATS_URL: z.string(),
  FAIRLEAD_NATS_SEED_FILE: z.string(),
  FAIRLEAD_CREDENTIAL: CredentialName.default('gateway'),
  FAIRLEAD_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  FAIRLEAD_HEALTH_LISTEN: hostPort,
  /** Agents dial this. */
  FAIRLEAD_LINK_LISTEN: hostPort,
  /** Other replicas dial this, at FAIRLEAD_RELAY_ADDRESS. */
  FAIRLEAD_RELAY_LISTEN: hostPort,
  FAIRLEAD_RELAY_ADDRESS: hostPort.optional(),
  /** kubectl dials this. */
  FAIRLEAD_DOOR_LISTEN: hostPort,
  /** Programs with a client certificate dial this; absent: no such door. */
  FAIRLEAD_CONNECT_LISTEN: hostPort.optional(),
  /** A client of the CONNECT door that ended its direction and takes nothing for this long is gone. */
  FAIRLEAD_CONNECT_STALL_SECONDS: z.coerce.number().min(1).max(3_600).default(120),
  FAIRLEAD_SERVING_NAMES: commaList,
  FAIRLEAD_LINK_ENDPOINTS: commaList,
  FAIRLEAD_ZONE: z.string().max(63).default(''),
  FAIRLEAD_LEASE_SECONDS: z.coerce.number().min(1).max(300).default(15),
});

export type GatewayConfig = z.output<typeof Environment>;

/** Reads the environment; throws one error that lists everything wrong with it. */
export function readConfig(env: NodeJS.ProcessEnv): GatewayConfig {
  return loadConfig(Environment, env);
}
