import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { AuthorityKind } from '../domain/certificate-authority.js';

@Entity('authorities')
export class AuthorityRow {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ type: 'text', name: 'tenant_id' })
  tenantId!: string;

  @Column({ type: 'text' })
  kind!: AuthorityKind;

  @Column({ type: 'text', name: 'certificate_pem' })
  certificatePem!: string;

  /** See domain/sealing.ts. */
  @Column({ type: 'bytea', name: 'sealed_key' })
  sealedKey!: Buffer;

  @Column({ type: 'timestamptz', name: 'not_after' })
  notAfter!: Date;
}

export type CertificatePurpose = 'agent' | 'gateway' | 'client' | 'serving';

/** Every certificate ever signed. */
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

  @Column({ type: 'text' })
  reason!: string;

  @Column({ type: 'timestamptz', name: 'revoked_at' })
  revokedAt!: Date;
}
