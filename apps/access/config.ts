import { loadConfig, secretFile } from '@fairlead/config';
import { credentialOf, serviceSettings } from '@fairlead/service/process';
import { z } from 'zod';

const Config = z.object({
  ...serviceSettings,
  FAIRLEAD_CREDENTIAL: credentialOf('access'),
  /** The token of the administrator, at least 32 characters: the way in when all else is away. */
  FAIRLEAD_ADMIN_TOKEN_FILE: secretFile,
  /** How long the token of a login is good; a command renews it by itself. */
  FAIRLEAD_LOGIN_SECONDS: z.coerce.number().int().min(60).max(3_600).default(1_800),
  /** How long the logins of a person are renewed without asking them again. */
  FAIRLEAD_SESSION_SECONDS: z.coerce.number().int().min(900).max(7_776_000).default(604_800),
});
export type Config = z.output<typeof Config>;

/** Throws INVALID_ARGUMENT that lists every problem. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  return loadConfig(Config, env);
}
