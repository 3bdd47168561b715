import { readFileSync } from 'node:fs';
import type { Secret } from '@fairlead/config';
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

/** Where a master key may be: `given` is FAIRLEAD_MASTER_KEY. */
export const MASTER_KEY_PLACES = ['file', 'given', 'pkcs11', 'vault'] as const;
type Place = (typeof MASTER_KEY_PLACES)[number];

/** As config.ts has them. Several places may be set, so that the key can move. */
type Settings = {
  readonly [
    K in
      | 'FAIRLEAD_MASTER_KEY_FILE'
      | 'FAIRLEAD_OTHER_MASTER_KEY_FILE'
      | 'FAIRLEAD_PKCS11_MODULE'
      | 'FAIRLEAD_PKCS11_TOKEN'
      | 'FAIRLEAD_PKCS11_KEY'
      | 'FAIRLEAD_PKCS11_PIN_FILE'
      | 'FAIRLEAD_VAULT_URL'
      | 'FAIRLEAD_VAULT_KEY'
      | 'FAIRLEAD_VAULT_NAMESPACE'
      | 'FAIRLEAD_VAULT_TOKEN_FILE'
      | 'FAIRLEAD_VAULT_CA_FILE'
  ]?: string | undefined;
} & {
  readonly FAIRLEAD_MASTER_KEY?: Secret | undefined;
  readonly FAIRLEAD_VAULT_MOUNT: string;
  readonly FAIRLEAD_SEAL_WITH?: Place | undefined;
};

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
