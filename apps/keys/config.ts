import { commaList, loadConfig } from '@fairlead/config';
import { DEFAULT_TRUST_DOMAIN } from '@fairlead/keys';
import { credentialOf, serviceSettings } from '@fairlead/service/process';
import { z } from 'zod';
import { masterKeyOf, masterKeySettings } from './master-key.js';

const servingNames = commaList.transform((names) => names.map((name) => name.toLowerCase())).default([]);

const Config = z.object({
  ...serviceSettings,
  FAIRLEAD_CREDENTIAL: credentialOf('keys'),
  ...masterKeySettings,
  FAIRLEAD_TRUST_DOMAIN: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9.-]{0,253}[a-z0-9])?$/, 'expected lower-case letters, digits, dots and dashes')
    .default(DEFAULT_TRUST_DOMAIN),
  /** DNS names and addresses that the admin API's certificates may carry, and nobody else's. */
  FAIRLEAD_API_SERVING_NAMES: servingNames,
  /** The same for the doors of all gateways. A name in both lists can be had by a gateway that was taken over. */
  FAIRLEAD_GATEWAY_SERVING_NAMES: servingNames,
  /** How long after its certificate's end an agent that was away may still renew it. */
  FAIRLEAD_RECOVERY_WINDOW_SECONDS: z.coerce.number().int().min(0).max(31_536_000).default(2_592_000),
  /** How often, at most, the deploy keys of each repository are looked at; more seldom where a host has very many. */
  FAIRLEAD_DEPLOY_KEY_CHECK_SECONDS: z.coerce.number().int().min(1).max(86_400).default(50),
  /** How often, at most, the SSH keys of each Git host are looked at. */
  FAIRLEAD_HOST_KEY_SCAN_SECONDS: z.coerce.number().int().min(1).max(86_400).default(300),
  FAIRLEAD_CERTIFICATE_TTL_SECONDS: z.coerce.number().int().min(10).max(31_536_000).default(86_400),
});
export type Config = z.output<typeof Config>;

/** Throws INVALID_ARGUMENT that lists every problem. The master key is in `env` no more after it: no child process inherits it. */
export function readConfig(env: Record<string, string | undefined>): Config {
  const config = loadConfig(Config, env);
  delete env['FAIRLEAD_MASTER_KEY'];
  masterKeyOf(config);
  return config;
}
