import { Secret, commaList, loadConfig } from '@fairlead/config';
import { FairleadError } from '@fairlead/errors';
import { DEFAULT_TRUST_DOMAIN, masterKeyGiven, masterKeyInFile, type MasterKey } from '@fairlead/keys';
import { credentialOf, serviceSettings } from '@fairlead/service/process';
import { z } from 'zod';

const servingNames = commaList.transform((names) => names.map((name) => name.toLowerCase())).default([]);

const Config = z.object({
  ...serviceSettings,
  FAIRLEAD_CREDENTIAL: credentialOf('keys'),
  /** Seals the CA's keys; made with the CA, 0600, and to be backed up apart from the database. */
  FAIRLEAD_MASTER_KEY_FILE: z.string().min(1).optional(),
  /** The key itself, base64, instead of the file. What injects it there can read it, and so can whoever reads /proc. */
  FAIRLEAD_MASTER_KEY: z
    .string()
    .min(1)
    .transform((text) => new Secret(text))
    .optional(),
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
  if ((config.FAIRLEAD_MASTER_KEY_FILE === undefined) === (config.FAIRLEAD_MASTER_KEY === undefined)) {
    throw new FairleadError('INVALID_ARGUMENT', 'set one of FAIRLEAD_MASTER_KEY_FILE and FAIRLEAD_MASTER_KEY');
  }
  return config;
}

export function masterKeyOf({ FAIRLEAD_MASTER_KEY: given, FAIRLEAD_MASTER_KEY_FILE: path = '' }: Config): MasterKey {
  return given ? masterKeyGiven(given.reveal()) : masterKeyInFile(path);
}
