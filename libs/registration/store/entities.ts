import type { ApprovalPolicy, LastError, ManifestValues, TenantQuotas } from '@fairlead/contracts';
import type { StoredFacts } from '../domain/known-facts.js';
import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

@Entity('clusters')
export class ClusterRow {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') tenantId!: string;
  @Column('text') name!: string;
  @Column('jsonb') labels!: Record<string, string>;
  @Column('int') links!: number;
  /** Rules for what its agent opens for raw TCP. */
  @Column('text', { array: true }) targets!: string[];
  /** Ports of its agent for connections out of the cluster. */
  @Column('text', { array: true }) egress!: string[];
  /** Does its import manifest bring an installer? */
  @Column('boolean') gitops!: boolean;
  /** How its pods are to run. */
  @Column('jsonb') manifestValues!: ManifestValues;
  /** The current enrolment; 0 before the first. */
  @Column('int') generation!: number;
  /** The highest number that `keys` may have seen: the current enrolment's, or of one that nobody knows the end of. */
  @Column('int') lastGeneration!: number;
  @Column('jsonb', { nullable: true }) facts!: StoredFacts | null;
  @CreateDateColumn({ type: 'timestamptz' }) createdAt!: Date;
  @Column('timestamptz', { nullable: true }) enrolledAt!: Date | null;
  /** Null: the tenant's. */
  @Column('text', { nullable: true }) approvalPolicy!: ApprovalPolicy | null;
  /** The last refusal or loss of its agent. */
  @Column('jsonb', { nullable: true }) lastError!: LastError | null;
}

@Entity('tenants')
export class TenantRow {
  @PrimaryColumn('text') id!: string;
  /** Null: the configuration's. */
  @Column('text', { nullable: true }) approvalPolicy!: ApprovalPolicy | null;
  /** What is left out: as many as the installation bears. */
  @Column('jsonb', { default: {} }) quotas!: Partial<TenantQuotas>;
  @CreateDateColumn({ type: 'timestamptz' }) createdAt!: Date;
  /** The row stays: names are not used again. */
  @Column('timestamptz', { nullable: true }) deletedAt!: Date | null;
}

/** An agent that asked for an identity which somebody has to approve. One for each key. */
@Entity('enrolment_requests')
export class EnrolmentRequestRow {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') tenantId!: string;
  @Column('text') state!: 'pending' | 'approved' | 'rejected';
  /** SHA-256 of the SubjectPublicKeyInfo, hex. */
  @Column('text') spkiSha256!: string;
  /** Whose token it showed, or what it was approved as. */
  @Column('uuid', { nullable: true }) clusterId!: string | null;
  /** The token it showed. */
  @Column('text', { nullable: true }) tokenId!: string | null;
  /** The enrolment that its approval made. */
  @Column('int', { nullable: true }) generation!: number | null;
  @Column('jsonb') facts!: StoredFacts;
  @Column('text') remoteAddress!: string;
  /** What its address counts as: itself, or its IPv6 /64. */
  @Column('text') network!: string;
  @Column('text', { nullable: true }) reason!: string | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') lastAskedAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  @Column('timestamptz', { nullable: true }) decidedAt!: Date | null;
}

@Entity('bootstrap_tokens')
export class BootstrapTokenRow {
  @PrimaryColumn('text') id!: string;
  @Column('text') tenantId!: string;
  @Column('uuid') clusterId!: string;
  @Column('text') secretHash!: string;
  /** Verifies proofs in the place of the secret: SubjectPublicKeyInfo, base64. Null: minted before there were any. */
  @Column('text', { nullable: true }) proofKey!: string | null;
  @CreateDateColumn({ type: 'timestamptz' }) createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
  @Column('timestamptz', { nullable: true }) revokedAt!: Date | null;
  /** SHA-256 of the SubjectPublicKeyInfo that showed it first, hex. */
  @Column('text', { nullable: true }) boundSpkiSha256!: string | null;
  /** Null while that key waits for an approval. */
  @Column('int', { nullable: true }) boundGeneration!: number | null;
}

@Entity('import_links')
export class ImportLinkRow {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') tenantId!: string;
  @Column('uuid') clusterId!: string;
  @Column('text') codeHash!: string;
  @Column('timestamptz') expiresAt!: Date;
  @Column('timestamptz', { nullable: true }) redeemedAt!: Date | null;
}

@Entity('clients')
export class ClientRow {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') tenantId!: string;
  /** Unique in its tenant. */
  @Column('text') name!: string;
  /** Sorted; null: every cluster of the tenant. */
  @Column('uuid', { array: true, nullable: true }) clusterIds!: string[] | null;
  @CreateDateColumn({ type: 'timestamptz' }) createdAt!: Date;
  /** Of its newest certificate; null until the first one is issued. */
  @Column('timestamptz', { nullable: true }) notAfter!: Date | null;
}
