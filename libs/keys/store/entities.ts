import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { AuthorityKind, AuthorityState } from '../domain/authority.js';

@Entity('authorities')
export class AuthorityRow {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ type: 'text', name: 'tenant_id' })
  tenantId!: string;

  @Column({ type: 'text' })
  kind!: AuthorityKind;

  @Column({ type: 'text' })
  state!: AuthorityState;

  @Column({ type: 'text', name: 'certificate_pem' })
  certificatePem!: string;

  /** See store/key-encryption.ts. Null: the key is offline, or was destroyed with the retirement. */
  @Column({ type: 'bytea', name: 'sealed_key', nullable: true })
  sealedKey!: Buffer | null;

  /** Of an issuing CA. */
  @Column({ type: 'uuid', name: 'root_id', nullable: true })
  rootId!: string | null;

  /** Of a root: its key's certificate by the root before it. */
  @Column({ type: 'text', name: 'cross_pem', nullable: true })
  crossPem!: string | null;

  @Column({ type: 'timestamptz', name: 'not_after' })
  notAfter!: Date;

  @Column({ type: 'timestamptz', name: 'state_since' })
  stateSince!: Date;
}

/** Each version of the roots, signed. The newest counts; it is signed again when its signer's issuing CA is replaced. */
@Entity('trust_bundles')
export class TrustBundleRow {
  @PrimaryColumn({ type: 'int' })
  version!: number;

  /** What was signed, base64. */
  @Column({ type: 'text' })
  bundle!: string;

  @Column({ type: 'text', array: true, name: 'signer_chain' })
  signerChain!: string[];

  @Column({ type: 'text' })
  signature!: string;

  @Column({ type: 'timestamptz', name: 'signed_at' })
  signedAt!: Date;
}

/** The highest version that a cluster's agent said it holds. */
@Entity('trust_acknowledgements')
export class TrustAcknowledgementRow {
  @PrimaryColumn({ type: 'uuid', name: 'cluster_id' })
  clusterId!: string;

  @Column({ type: 'int' })
  version!: number;
}

/** A key that was made for an issuing CA, while its certificate is asked for where the root is. */
@Entity('issuing_requests')
export class IssuingRequestRow {
  @PrimaryColumn({ type: 'text', name: 'spki_sha256' })
  spkiSha256!: string;

  /** As in `authorities`. */
  @Column({ type: 'bytea', name: 'sealed_key' })
  sealedKey!: Buffer;
}

export type CertificatePurpose = 'agent' | 'gateway' | 'client' | 'serving';

/** Every certificate that was signed; those that ended long ago are deleted, see feature/forget-ended.ts. */
@Entity('certificates')
export class CertificateRow {
  @PrimaryColumn({ type: 'text' })
  serial!: string;

  @Column({ type: 'text', name: 'tenant_id' })
  tenantId!: string;

  @Column({ type: 'text' })
  purpose!: CertificatePurpose;

  /** SPIFFE id, or DNS names and addresses. */
  @Column({ type: 'text', array: true })
  names!: string[];

  @Column({ type: 'uuid', name: 'cluster_id', nullable: true })
  clusterId!: string | null;

  @Column({ type: 'int', nullable: true })
  generation!: number | null;

  /** The issuing CA. */
  @Column({ type: 'uuid', name: 'authority_id' })
  authorityId!: string;

  @Column({ type: 'text', name: 'spki_sha256' })
  spkiSha256!: string;

  @Column({ type: 'timestamptz', name: 'not_before' })
  notBefore!: Date;

  @Column({ type: 'timestamptz', name: 'not_after' })
  notAfter!: Date;
}

/** Either one certificate, or a cluster's enrolments up to a generation: a row of the second kind only ever grows. */
@Entity('revocations')
export class RevocationRow {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ type: 'text', name: 'tenant_id' })
  tenantId!: string;

  @Column({ type: 'text', nullable: true })
  serial!: string | null;

  @Column({ type: 'uuid', name: 'cluster_id', nullable: true })
  clusterId!: string | null;

  @Column({ type: 'int', name: 'through_generation', nullable: true })
  throughGeneration!: number | null;

  /** Nobody enrols for it again. */
  @Column({ type: 'boolean', name: 'cluster_deleted' })
  clusterDeleted!: boolean;

  @Column({ type: 'text' })
  reason!: string;

  @Column({ type: 'timestamptz', name: 'revoked_at' })
  revokedAt!: Date;
}
