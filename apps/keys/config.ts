import { Secret, commaList, loadConfig } from '@fairlead/config';
import { DEFAULT_TRUST_DOMAIN, overlapOf } from '@fairlead/keys';
import { credentialOf, serviceSettings } from '@fairlead/service/process';
import { z } from 'zod';
import { MASTER_KEY_PLACES, masterKeyOf } from './master-key.js';

const servingNames = commaList.transform((names) => names.map((name) => name.toLowerCase())).default([]);

const label = z
  .string()
  .regex(
    /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$/,
    'expected letters, digits, dots, dashes and underscores, at most 64, no dot at first',
  );

const Config = z
  .object({
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
    /** A second file: of the master key that sealed before, or of the one that will. It only opens what that key sealed. */
    FAIRLEAD_OTHER_MASTER_KEY_FILE: z.string().min(1).optional(),
    /** The library of a PKCS #11 token that has the master key (`/usr/lib/softhsm/libsofthsm2.so`, for one). */
    FAIRLEAD_PKCS11_MODULE: z.string().startsWith('/').optional(),
    /** Its label. */
    FAIRLEAD_PKCS11_TOKEN: z
      .string()
      .regex(/^[\x20-\x7e]{1,32}$/, 'expected 1 to 32 printable characters')
      .optional(),
    /** The label of an AES key of 256 bits in it that cannot be extracted. */
    FAIRLEAD_PKCS11_KEY: label.optional(),
    /** 0600; read at each login. */
    FAIRLEAD_PKCS11_PIN_FILE: z.string().min(1).optional(),
    /** A Vault whose transit engine has the master key. */
    FAIRLEAD_VAULT_URL: z
      .url({ protocol: /^https$/ })
      .transform((url) => new URL(url).origin)
      .optional(),
    /** The key's name there: of type `aes256-gcm96`, not exportable. */
    FAIRLEAD_VAULT_KEY: label.optional(),
    /** Where the engine is mounted. */
    FAIRLEAD_VAULT_MOUNT: z
      .string()
      .regex(
        /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/,
        'expected a path without a slash at its ends',
      )
      .max(64)
      .default('transit'),
    /** Of Vault Enterprise. */
    FAIRLEAD_VAULT_NAMESPACE: z.string().min(1).max(256).optional(),
    /** 0600; read for each request, so that a Vault Agent may replace it. */
    FAIRLEAD_VAULT_TOKEN_FILE: z.string().min(1).optional(),
    /** PEM, of the server's certificate. Without it, the authorities that Node trusts. */
    FAIRLEAD_VAULT_CA_FILE: z.string().min(1).optional(),
    /** Which of several places seals: `file`, `given` (`FAIRLEAD_MASTER_KEY`), `pkcs11` or `vault`. The others only open. */
    FAIRLEAD_SEAL_WITH: z.enum(MASTER_KEY_PLACES).optional(),
    FAIRLEAD_TRUST_DOMAIN: z
      .string()
      .regex(/^[a-z0-9]([a-z0-9.-]{0,253}[a-z0-9])?$/, 'expected lower-case letters, digits, dots and dashes')
      .default(DEFAULT_TRUST_DOMAIN),
    /** DNS names and addresses that the admin API's certificates may carry, and nobody else's. */
    FAIRLEAD_API_SERVING_NAMES: servingNames,
    /** The same for the doors of all gateways. A name in both lists can be had by a gateway that was taken over; a wildcard must not hold for a name of the other list. */
    FAIRLEAD_GATEWAY_SERVING_NAMES: servingNames,
    /** How long after its certificate's end an agent that was away may still renew it. */
    FAIRLEAD_RECOVERY_WINDOW_SECONDS: z.coerce.number().int().min(0).max(31_536_000).default(2_592_000),
    /** How often, at most, the deploy keys of each repository are looked at; more seldom where a host has very many. */
    FAIRLEAD_DEPLOY_KEY_CHECK_SECONDS: z.coerce.number().int().min(1).max(86_400).default(50),
    /** How often, at most, the SSH keys of each Git host are looked at. */
    FAIRLEAD_HOST_KEY_SCAN_SECONDS: z.coerce.number().int().min(1).max(86_400).default(300),
    /** A directory of all replicas of `keys`, where the signed checkpoints of audit logs are outside the database. Absent: only those who verify have them. */
    FAIRLEAD_AUDIT_CHECKPOINTS_DIR: z.string().min(1).optional(),
    FAIRLEAD_CERTIFICATE_TTL_SECONDS: z.coerce.number().int().min(10).max(31_536_000).default(86_400),
  })
  .superRefine(({ FAIRLEAD_API_SERVING_NAMES: api, FAIRLEAD_GATEWAY_SERVING_NAMES: gateway }, context) => {
    const overlap = overlapOf({ api, gateway });
    if (overlap !== null)
      context.addIssue({ code: 'custom', path: ['FAIRLEAD_GATEWAY_SERVING_NAMES'], message: overlap });
  });
export type Config = z.output<typeof Config>;

/** Throws INVALID_ARGUMENT that lists every problem. The master key is in `env` no more after it: no child process inherits it. */
export function readConfig(env: Record<string, string | undefined>): Config {
  const config = loadConfig(Config, env);
  delete env['FAIRLEAD_MASTER_KEY'];
  masterKeyOf(config);
  return config;
}
