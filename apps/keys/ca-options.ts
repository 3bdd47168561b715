import { KEYS_ENTITIES, KEYS_MIGRATIONS, type CurrentCaOptions } from '@fairlead/keys';
import type { ServiceSchema } from '@fairlead/service';
import type { Config } from './config.js';
import { masterKeyOf } from './master-key.js';

export const SCHEMA: ServiceSchema = { role: 'keys', entities: KEYS_ENTITIES, migrations: KEYS_MIGRATIONS };

export function caOptions(
  config: Config,
  runtime: Pick<CurrentCaOptions, 'database' | 'logger' | 'onCommitted'>,
): CurrentCaOptions {
  return {
    ...runtime,
    source: { role: SCHEMA.role, credential: config.FAIRLEAD_CREDENTIAL },
    masterKey: masterKeyOf(config),
    trustDomain: config.FAIRLEAD_TRUST_DOMAIN,
    leafLifeSeconds: config.FAIRLEAD_CERTIFICATE_TTL_SECONDS,
  };
}
