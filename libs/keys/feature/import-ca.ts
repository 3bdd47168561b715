import { FairleadError } from '@fairlead/errors';
import { inTransaction } from '@fairlead/persistence';
import { createIssuingCsr, generatePrivateKey, spkiPin, spkiPinOfKey } from '@fairlead/pki';
import { certifyNextRoot, type AuthorityPair } from '../domain/authority.js';
import { checkCross, importedPair, type CaMaterial } from '../domain/imported-pair.js';
import {
  authoritiesStamp,
  forgetRequestedKey,
  keepRequestedKey,
  lockAuthorities,
  requestedKey,
} from '../store/authority-store.js';
import { CurrentCa, type CurrentCaOptions } from './current-ca.js';
import { DEFAULT_TRUST_DOMAIN } from './load-ca.js';
import { Rotation } from './rotation.js';

/** `first`: the installation begins with it; `next`: a rotation does; `issuing`: the active root's issuing CA was replaced. */
export type Imported = 'first' | 'next' | 'issuing' | 'unchanged';

/** As it is given: the key of the issuing CA may be one that was made here for a request. */
export type ImportedFiles = Omit<CaMaterial, 'issuingKeyPem'> & { readonly issuingKeyPem: string | null };

/**
 * Takes in a CA that was made elsewhere. INVALID_ARGUMENT says what is wrong with it, or with the trust domain; CONFLICT while a root is being rotated. The same
 * again changes nothing.
 */
export async function importCa(options: CurrentCaOptions, files: ImportedFiles): Promise<Imported> {
  const now = options.now?.() ?? new Date();
  const material = { ...files, issuingKeyPem: files.issuingKeyPem ?? (await keyOfRequest(options, files.issuingPem)) };
  const pair = await importedPair(material, 'active', now);
  const hadNone = (await inTransaction(options.database, authoritiesStamp)) === '';
  if (hadNone) assertOwnTrustDomain(options);
  const ca = await CurrentCa.open(options, pair);
  const done = await inTransaction(options.database, async (manager) => {
    const { authority, bundle } = await ca.locked(manager);
    const active = authority.pair('identity');
    if (samePem(active.issuing, pair.issuing)) return hadNone ? 'first' : 'unchanged';
    await forgetRequestedKey(manager, spkiPin(pair.issuing.certificatePem));
    if (spkiPin(active.root.certificatePem) === spkiPin(pair.root.certificatePem)) {
      await ca.replaceIssuing(manager, { ...pair.issuing, rootId: active.root.id }, bundle.version);
      return 'issuing';
    }
    assertOwnTrustDomain(options);
    const next = await asNext(pair, active.root, material, now);
    const rotation = new Rotation({ ...options, ca, behind: () => [] });
    await rotation.prepareImported(options.source, manager, next);
    return 'next';
  });
  options.onCommitted();
  return done;
}

/** A key for an issuing CA below an offline root, kept here, and the request (PKCS#10, PEM) that the root signs. */
export async function requestIssuing(options: CurrentCaOptions): Promise<string> {
  return inTransaction(options.database, async (manager) => {
    await lockAuthorities(manager);
    const sealer = await options.masterKey.open((await authoritiesStamp(manager)) === '');
    const privateKeyPem = await generatePrivateKey();
    await keepRequestedKey(manager, sealer, spkiPinOfKey(privateKeyPem), privateKeyPem);
    return createIssuingCsr(privateKeyPem, `Fairlead identity issuing ${crypto.randomUUID().slice(0, 8)}`);
  });
}

async function keyOfRequest(options: CurrentCaOptions, issuingPem: string): Promise<string> {
  const key = await inTransaction(options.database, async (manager) => {
    const sealer = await options.masterKey.open((await authoritiesStamp(manager)) === '');
    return requestedKey(manager, sealer, spkiPin(issuingPem));
  });
  if (key !== null) return key;
  throw new FairleadError(
    'INVALID_ARGUMENT',
    '--key: it is missing, and the certificate is not for a key that `fairlead-keys issuing-csr` made here',
  );
}

/** Whoever else gets certificates below the same root must not be given names of this installation by an accident. */
function assertOwnTrustDomain({ trustDomain }: CurrentCaOptions): void {
  if (trustDomain !== DEFAULT_TRUST_DOMAIN) return;
  throw new FairleadError(
    'INVALID_ARGUMENT',
    `FAIRLEAD_TRUST_DOMAIN: ${DEFAULT_TRUST_DOMAIN} is everybody's, so it tells this installation from no other one below a root that ` +
      'was made elsewhere; begin with a domain of your own, which stays for good',
  );
}

async function asNext(
  { root, issuing }: AuthorityPair,
  active: AuthorityPair['root'],
  material: CaMaterial,
  now: Date,
): Promise<AuthorityPair> {
  const isOffline = active.privateKeyPem === null;
  const crossPem = isOffline
    ? await checkCross(material, active.certificatePem, now)
    : await certifyNextRoot(active, root.certificatePem, now);
  return { root: { ...root, state: 'next', crossPem }, issuing: { ...issuing, state: 'next' } };
}

function samePem(one: AuthorityPair['issuing'], other: AuthorityPair['issuing']): boolean {
  return one.certificatePem.trim() === other.certificatePem.trim();
}
