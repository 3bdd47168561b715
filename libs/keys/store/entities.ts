import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { AuthorityKind, AuthorityState } from '../domain/authority.js';

@Entity('authorities')
export class AuthorityRow {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') tenantId!: string;
  @Column('text') kind!: AuthorityKind;
  @Column('text') state!: AuthorityState;
  @Column('text') certificatePem!: string;
  /** See store/sealer.ts. Null: the key is offline, or was destroyed with the retirement. */
  @Column('bytea', { nullable: true }) sealedKey!: Buffer | null;
  /** Of an issuing CA. */
  @Column('uuid', { nullable: true }) rootId!: string | null;
  /** Of a root: its key's certificate by the root before it. */
  @Column('text', { nullable: true }) crossPem!: string | null;
  @Column('timestamptz') notAfter!: Date;
  @Column('timestamptz') stateSince!: Date;
}

/** Each version of the roots, signed. The newest counts; it is signed again when its signer's issuing CA is replaced. */
@Entity('trust_bundles')
export class TrustBundleRow {
  @PrimaryColumn('int') version!: number;
  /** What was signed, base64. */
  @Column('text') bundle!: string;
  @Column('text', { array: true }) signerChain!: string[];
  @Column('text') signature!: string;
  @Column('timestamptz') signedAt!: Date;
}

/** Where agents reach gateways: what the next trust bundle says. */
@Entity('link_endpoints')
export class LinkEndpointRow {
  @PrimaryColumn('text') address!: string;
  @Column('text') tenantId!: string;
  @Column('text', { nullable: true }) serverName!: string | null;
  @Column('text', { nullable: true }) region!: string | null;
  @Column('int') weight!: number;
  @Column('text') state!: 'active' | 'draining';
}

/** The highest version that a cluster's agent said it holds. */
@Entity('trust_acknowledgements')
export class TrustAcknowledgementRow {
  @PrimaryColumn('uuid') clusterId!: string;
  @Column('int') version!: number;
}

/** A key that was made for an issuing CA, while its certificate is asked for where the root is. */
@Entity('issuing_requests')
export class IssuingRequestRow {
  @PrimaryColumn('text') spkiSha256!: string;
  /** As in `authorities`. */
  @Column('bytea') sealedKey!: Buffer;
}

export type CertificatePurpose = 'agent' | 'gateway' | 'client' | 'serving';

/** Every certificate that was signed; those that ended long ago are deleted, see feature/forget-ended.ts. */
@Entity('certificates')
export class CertificateRow {
  @PrimaryColumn('text') serial!: string;
  @Column('text') tenantId!: string;
  @Column('text') purpose!: CertificatePurpose;
  /** SPIFFE id, or DNS names and addresses. */
  @Column('text', { array: true }) names!: string[];
  @Column('uuid', { nullable: true }) clusterId!: string | null;
  @Column('int', { nullable: true }) generation!: number | null;
  /** The issuing CA. */
  @Column('uuid') authorityId!: string;
  @Column('text') spkiSha256!: string;
  @Column('timestamptz') notBefore!: Date;
  @Column('timestamptz') notAfter!: Date;
}

/** Either one certificate, or a cluster's enrolments up to a generation: a row of the second kind only ever grows. */
@Entity('revocations')
export class RevocationRow {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') tenantId!: string;
  @Column('text', { nullable: true }) serial!: string | null;
  @Column('uuid', { nullable: true }) clusterId!: string | null;
  @Column('int', { nullable: true }) throughGeneration!: number | null;
  /** Nobody enrols for it again. */
  @Column('boolean') clusterDeleted!: boolean;
  @Column('text') reason!: string;
  @Column('timestamptz') revokedAt!: Date;
}
