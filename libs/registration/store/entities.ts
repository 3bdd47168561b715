import type { ApprovalPolicy, LastError } from '@fairlead/contracts';
import type { StoredFacts } from '../domain/known-facts.js';
import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

@Entity('clusters')
export class ClusterRow {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ type: 'text', name: 'tenant_id' })
  tenantId!: string;

  @Column({ type: 'text' })
  name!: string;

  @Column({ type: 'jsonb' })
  labels!: Record<string, string>;

  @Column({ type: 'int' })
  links!: number;

  /** Rules for what its agent opens for raw TCP. */
  @Column({ type: 'text', array: true })
  targets!: string[];

  /** Ports of its agent for connections out of the cluster. */
  @Column({ type: 'text', array: true })
  egress!: string[];

  /** Does its import manifest bring an installer? */
  @Column({ type: 'boolean' })
  gitops!: boolean;

  /** The current enrolment; 0 before the first. */
  @Column({ type: 'int' })
  generation!: number;

  /** The highest number that `keys` may have seen: the current enrolment's, or of one that nobody knows the end of. */
  @Column({ type: 'int', name: 'last_generation' })
  lastGeneration!: number;

  @Column({ type: 'jsonb', nullable: true })
  facts!: StoredFacts | null;

  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' })
  createdAt!: Date;

  @Column({ type: 'timestamptz', name: 'enrolled_at', nullable: true })
  enrolledAt!: Date | null;

  /** Null: the tenant's. */
  @Column({ type: 'text', name: 'approval_policy', nullable: true })
  approvalPolicy!: ApprovalPolicy | null;

  /** The last refusal or loss of its agent. */
  @Column({ type: 'jsonb', name: 'last_error', nullable: true })
  lastError!: LastError | null;
}

@Entity('tenants')
export class TenantRow {
  @PrimaryColumn({ type: 'text' })
  id!: string;

  /** Null: the configuration's. */
  @Column({ type: 'text', name: 'approval_policy', nullable: true })
  approvalPolicy!: ApprovalPolicy | null;
}

/** An agent that asked for an identity which somebody has to approve. One for each key. */
@Entity('enrolment_requests')
export class EnrolmentRequestRow {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ type: 'text', name: 'tenant_id' })
  tenantId!: string;

  @Column({ type: 'text' })
  state!: 'pending' | 'approved' | 'rejected';

  /** SHA-256 of the SubjectPublicKeyInfo, hex. */
  @Column({ type: 'text', name: 'spki_sha256' })
  spkiSha256!: string;

  /** Whose token it showed, or what it was approved as. */
  @Column({ type: 'uuid', name: 'cluster_id', nullable: true })
  clusterId!: string | null;

  /** The token it showed. */
  @Column({ type: 'text', name: 'token_id', nullable: true })
  tokenId!: string | null;

  /** The enrolment that its approval made. */
  @Column({ type: 'int', nullable: true })
  generation!: number | null;

  @Column({ type: 'jsonb' })
  facts!: StoredFacts;

  @Column({ type: 'text', name: 'remote_address' })
  remoteAddress!: string;

  /** What its address counts as: itself, or its IPv6 /64. */
  @Column({ type: 'text' })
  network!: string;

  @Column({ type: 'text', nullable: true })
  reason!: string | null;

  @Column({ type: 'timestamptz', name: 'created_at' })
  createdAt!: Date;

  @Column({ type: 'timestamptz', name: 'last_asked_at' })
  lastAskedAt!: Date;

  @Column({ type: 'timestamptz', name: 'expires_at' })
  expiresAt!: Date;

  @Column({ type: 'timestamptz', name: 'decided_at', nullable: true })
  decidedAt!: Date | null;
}

@Entity('bootstrap_tokens')
export class BootstrapTokenRow {
  @PrimaryColumn({ type: 'text' })
  id!: string;

  @Column({ type: 'text', name: 'tenant_id' })
  tenantId!: string;

  @Column({ type: 'uuid', name: 'cluster_id' })
  clusterId!: string;

  @Column({ type: 'text', name: 'secret_hash' })
  secretHash!: string;

  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' })
  createdAt!: Date;

  @Column({ type: 'timestamptz', name: 'expires_at' })
  expiresAt!: Date;

  @Column({ type: 'timestamptz', name: 'revoked_at', nullable: true })
  revokedAt!: Date | null;

  /** SHA-256 of the SubjectPublicKeyInfo that showed it first, hex. */
  @Column({ type: 'text', name: 'bound_spki_sha256', nullable: true })
  boundSpkiSha256!: string | null;

  /** Null while that key waits for an approval. */
  @Column({ type: 'int', name: 'bound_generation', nullable: true })
  boundGeneration!: number | null;
}

@Entity('import_links')
export class ImportLinkRow {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ type: 'text', name: 'tenant_id' })
  tenantId!: string;

  @Column({ type: 'uuid', name: 'cluster_id' })
  clusterId!: string;

  @Column({ type: 'text', name: 'code_hash' })
  codeHash!: string;

  @Column({ type: 'timestamptz', name: 'expires_at' })
  expiresAt!: Date;

  @Column({ type: 'timestamptz', name: 'redeemed_at', nullable: true })
  redeemedAt!: Date | null;
}

@Entity('api_tokens')
export class ApiTokenRow {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ type: 'text', name: 'tenant_id' })
  tenantId!: string;

  /** Unique in its tenant. */
  @Column({ type: 'text' })
  name!: string;

  @Column({ type: 'text', name: 'token_hash' })
  tokenHash!: string;

  /** Kubernetes user and groups that it stands for. */
  @Column({ type: 'text', name: 'user_name' })
  user!: string;

  @Column({ type: 'text', array: true, name: 'group_names' })
  groups!: string[];

  @Column({ type: 'timestamptz', name: 'expires_at', nullable: true })
  expiresAt!: Date | null;
}

@Entity('clients')
export class ClientRow {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ type: 'text', name: 'tenant_id' })
  tenantId!: string;

  /** Unique in its tenant. */
  @Column({ type: 'text' })
  name!: string;

  /** Sorted; null: every cluster of the tenant. */
  @Column({ type: 'uuid', array: true, name: 'cluster_ids', nullable: true })
  clusterIds!: string[] | null;

  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' })
  createdAt!: Date;

  /** Of its newest certificate; null until the first one is issued. */
  @Column({ type: 'timestamptz', name: 'not_after', nullable: true })
  notAfter!: Date | null;
}
