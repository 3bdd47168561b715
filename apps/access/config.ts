import { loadConfig, secretFile } from '@fairlead/config';
import { credentialOf, serviceSettings } from '@fairlead/service/process';
import { z } from 'zod';

const Config = z.object({
  ...serviceSettings,
  FAIRLEAD_CREDENTIAL: credentialOf('access'),
  /** The token of the administrator, at least 32 characters: the way in when all else is away. */
  FAIRLEAD_ADMIN_TOKEN_FILE: secretFile,
});
export type Config = z.output<typeof Config>;

/** Throws INVALID_ARGUMENT that lists every problem. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  return loadConfig(Config, env);
}
