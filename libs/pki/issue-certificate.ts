import { isIP } from 'node:net';
import { FairleadError } from '@fairlead/errors';
import { newSerial, signCertificate, type Authority, type Validity } from './authority.js';
import type { CheckedCsr } from './csr.js';
import { canonicalSerial } from './peer-certificate.js';
import { formatSpiffeId, type SpiffeId } from './spiffe-id.js';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  type Extension,
  type JsonGeneralNames,
} from './x509.js';

export interface IdentityOptions extends Validity {
  readonly csr: CheckedCsr;
  readonly id: SpiffeId;
  /** Counts an agent's enrolments; carried as the subject's `OU=generation:<n>`. */
  readonly generation?: number;
  /** Of the trust bundle that counted when it was issued; carried as `OU=trust:<n>`. */
  readonly trustVersion?: number;
  /** Hex; random unless given. */
  readonly serial?: string;
}

export interface ServingOptions extends Validity {
  readonly csr: CheckedCsr;
  /** DNS names (a leading `*.` is allowed) or IP addresses. */
  readonly names: readonly string[];
}

export interface IssuedCertificate {
  readonly certificatePem: string;
  /** Lower-case hex. */
  readonly serial: string;
}

/** A certificate for one SPIFFE id: agents and clients only dial, gateways and services are servers as well. */
export async function issueIdentity(issuer: Authority, options: IdentityOptions): Promise<IssuedCertificate> {
  const { csr, id, generation, trustVersion } = options;
  const units = [...unit('generation', generation), ...unit('trust', trustVersion)];
  const commonName = id.kind === 'agent' ? id.clusterId : id.name;
  const usages =
    id.kind === 'agent' || id.kind === 'client'
      ? [ExtendedKeyUsage.clientAuth]
      : [ExtendedKeyUsage.clientAuth, ExtendedKeyUsage.serverAuth];
  return issue(issuer, {
    ...options,
    csr,
    subject: [{ CN: [commonName] }, ...units],
    extensions: leafExtensions(usages, [{ type: 'url', value: formatSpiffeId(id) }]),
  });
}

function unit(name: 'generation' | 'trust', value: number | undefined): { OU: string[] }[] {
  return value === undefined ? [] : [{ OU: [`${name}:${value}`] }];
}

/** A server certificate for names that the caller has allowed. */
export async function issueServing(issuer: Authority, options: ServingOptions): Promise<IssuedCertificate> {
  if (options.names.length === 0) throw new FairleadError('INVALID_ARGUMENT', 'a serving certificate needs a name');
  return issue(issuer, {
    ...options,
    subject: [{ CN: ['fairlead'] }],
    extensions: leafExtensions([ExtendedKeyUsage.serverAuth], options.names.map(toGeneralName)),
  });
}

interface Leaf extends Validity {
  readonly csr: CheckedCsr;
  readonly serial?: string;
  readonly subject: Record<string, string[]>[];
  readonly extensions: readonly Extension[];
}

async function issue(issuer: Authority, leaf: Leaf): Promise<IssuedCertificate> {
  const serial = canonicalSerial(leaf.serial ?? newSerial());
  if (!/^([0-9a-f]{2}){1,20}$/.test(serial) || serial === '00') {
    throw new FairleadError('INVALID_ARGUMENT', 'a serial number is 1 to 20 hex bytes, positive and not zero');
  }
  const publicKey = new Uint8Array(leaf.csr.publicKey);
  return { certificatePem: await signCertificate(issuer, { ...leaf, publicKey, serial }), serial };
}

function leafExtensions(usages: ExtendedKeyUsage[], names: JsonGeneralNames): Extension[] {
  return [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension(usages),
    new SubjectAlternativeNameExtension(names),
  ];
}

function toGeneralName(name: string): JsonGeneralNames[number] {
  if (isIP(name) !== 0) return { type: 'ip', value: name };
  const labels = /^(\*\.)?[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i;
  if (name.length <= 253 && labels.test(name)) return { type: 'dns', value: name.toLowerCase() };
  throw new FairleadError('INVALID_ARGUMENT', `${JSON.stringify(name)} is neither a DNS name nor an IP address`);
}
