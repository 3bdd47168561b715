import { readFileSync } from 'node:fs';
import { Secret } from '@fairlead/config';
import { FairleadError, messageOf } from '@fairlead/errors';
import {
  masterKeyFrom,
  masterKeyGiven,
  masterKeyInFile,
  masterKeyInToken,
  masterKeyInVault,
  type KeySource,
  type MasterKey,
} from '@fairlead/keys';
import { z } from 'zod';

const label = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,64}$/, 'expected letters, digits, dots, dashes and underscores, at most 64');
const PLACES = ['file', 'given', 'pkcs11', 'vault'] as const;
type Place = (typeof PLACES)[number];

/** Where the master key is. Several may be set, so that it can move: `FAIRLEAD_SEAL_WITH` chooses. */
export const masterKeySettings = {
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
    .regex(/^[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/, 'expected a path without a slash at its ends')
    .max(64)
    .default('transit'),
  /** Of Vault Enterprise. */
  FAIRLEAD_VAULT_NAMESPACE: z.string().min(1).max(256).optional(),
  /** 0600; read for each request, so that a Vault Agent may replace it. */
  FAIRLEAD_VAULT_TOKEN_FILE: z.string().min(1).optional(),
  /** PEM, of the server's certificate. Without it, the authorities that Node trusts. */
  FAIRLEAD_VAULT_CA_FILE: z.string().min(1).optional(),
  /** Which of several places seals: `file`, `given` (`FAIRLEAD_MASTER_KEY`), `pkcs11` or `vault`. The others only open. */
  FAIRLEAD_SEAL_WITH: z.enum(PLACES).optional(),
};
type Settings = z.output<z.ZodObject<typeof masterKeySettings>>;

/** INVALID_ARGUMENT where no place is set, one is set half, or none of several is chosen. Asks nobody yet. */
export function masterKeyOf(settings: Settings): MasterKey {
  const sources = new Map<Place, KeySource>();
  const { FAIRLEAD_MASTER_KEY: given, FAIRLEAD_MASTER_KEY_FILE: path, FAIRLEAD_OTHER_MASTER_KEY_FILE: old } = settings;
  if (path !== undefined) sources.set('file', masterKeyInFile(path));
  if (given) sources.set('given', masterKeyGiven(given.reveal()));
  const token = inToken(settings);
  if (token) sources.set('pkcs11', token);
  const vault = inVault(settings);
  if (vault) sources.set('vault', vault);
  const seals = chosen([...sources.keys()], settings.FAIRLEAD_SEAL_WITH);
  const others = [...sources].filter(([place]) => place !== seals).map(([, source]) => source);
  if (old !== undefined) others.push(masterKeyInFile(old, 'FAIRLEAD_OTHER_MASTER_KEY_FILE'));
  return masterKeyFrom(sources.get(seals) as KeySource, others);
}

function chosen(places: readonly Place[], wanted: Place | undefined): Place {
  const [only] = places;
  if (only === undefined) {
    throw invalid(
      'set FAIRLEAD_MASTER_KEY_FILE, or another place of the master key: FAIRLEAD_MASTER_KEY, FAIRLEAD_PKCS11_MODULE, FAIRLEAD_VAULT_URL',
    );
  }
  if (wanted === undefined && places.length === 1) return only;
  if (wanted !== undefined && places.includes(wanted)) return wanted;
  throw invalid(
    wanted === undefined
      ? `several places of the master key are set (${places.join(', ')}): FAIRLEAD_SEAL_WITH has to say which one seals`
      : `FAIRLEAD_SEAL_WITH is ${wanted}, whose settings are missing; those of ${places.join(', ')} are there`,
  );
}

function inToken(settings: Settings): KeySource | null {
  const names = [
    'FAIRLEAD_PKCS11_MODULE',
    'FAIRLEAD_PKCS11_TOKEN',
    'FAIRLEAD_PKCS11_KEY',
    'FAIRLEAD_PKCS11_PIN_FILE',
  ] as const;
  const all = allOf(settings, names);
  if (!all) return null;
  const [modulePath, tokenLabel, keyLabel, pinFile] = all;
  return masterKeyInToken({ modulePath, tokenLabel, keyLabel, pinFile });
}

function inVault(settings: Settings): KeySource | null {
  const names = ['FAIRLEAD_VAULT_URL', 'FAIRLEAD_VAULT_KEY', 'FAIRLEAD_VAULT_TOKEN_FILE'] as const;
  const all = allOf(settings, names);
  if (!all) return null;
  const [url, key, tokenFile] = all;
  const { FAIRLEAD_VAULT_MOUNT: mount, FAIRLEAD_VAULT_NAMESPACE: namespace, FAIRLEAD_VAULT_CA_FILE: caFile } = settings;
  const caPem = caFile === undefined ? undefined : readCa(caFile);
  return masterKeyInVault({ url, key, tokenFile, mount, namespace, caPem });
}

function readCa(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw invalid(`FAIRLEAD_VAULT_CA_FILE ${path}: ${messageOf(error)}`);
  }
}

/** Null if none of them is set. INVALID_ARGUMENT if some are. */
function allOf<const N extends readonly (keyof Settings)[]>(
  settings: Settings,
  names: N,
): { [K in keyof N]: string } | null {
  const missing = names.filter((name) => settings[name] === undefined);
  if (missing.length === names.length) return null;
  if (missing.length > 0)
    throw invalid(
      `${names.filter((name) => !missing.includes(name)).join(', ')}: ${missing.join(', ')} is missing beside it`,
    );
  return names.map((name) => settings[name]) as never;
}

function invalid(why: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', why);
}
