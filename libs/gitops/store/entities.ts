import type { Assignment } from '@fairlead/contracts';
import type { GitOpsSpec, InstallerReport, Phase } from '@fairlead/desired-state';
import { Column, CreateDateColumn, Entity, PrimaryColumn, type ValueTransformer } from 'typeorm';
import type { DeployKeyState } from '../domain/key-state.js';

/** Postgres' bigint; ours stay below 2^53. */
const asNumber: ValueTransformer = { to: (value: number) => value, from: (value: string) => Number(value) };

@Entity('repositories')
export class RepositoryRow {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ type: 'text', name: 'tenant_id' })
  tenantId!: string;

  /** Unique in its tenant. */
  @Column({ type: 'text' })
  name!: string;

  @Column({ type: 'text', name: 'git_host' })
  gitHost!: string;

  @Column({ type: 'uuid', name: 'host_id' })
  hostId!: string;

  @Column({ type: 'text' })
  path!: string;

  @Column({ type: 'text', name: 'ssh_url' })
  sshUrl!: string;

  @Column({ type: 'text', name: 'default_branch', nullable: true })
  defaultBranch!: string | null;

  /** Deploy keys get no older, in seconds; null: by no schedule. */
  @Column({ type: 'int', name: 'rotate_keys_seconds', nullable: true })
  rotateKeysSeconds!: number | null;

  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' })
  createdAt!: Date;
}

@Entity('bundles')
export class BundleRow {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ type: 'text', name: 'tenant_id' })
  tenantId!: string;

  @Column({ type: 'text' })
  tool!: GitOpsSpec['tool'];

  @Column({ type: 'text' })
  version!: string;

  /** Of the YAML, hex. */
  @Column({ type: 'text' })
  digest!: string;

  @Column({ type: 'int' })
  bytes!: number;

  @Column({ type: 'int', name: 'compressed_bytes' })
  compressedBytes!: number;

  @Column({ type: 'int' })
  objects!: number;

  @Column({ type: 'text', array: true })
  images!: string[];

  @Column({ type: 'text' })
  origin!: string;

  @Column({ type: 'text', name: 'imported_by' })
  importedBy!: string;

  @Column({ type: 'timestamptz', name: 'imported_at' })
  importedAt!: Date;

  /** Gzip. Read in pieces. */
  @Column({ type: 'bytea', select: false })
  content!: Buffer;
}

@Entity('bundle_uploads')
export class UploadRow {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ type: 'text', name: 'tenant_id' })
  tenantId!: string;

  @Column({ type: 'text' })
  tool!: GitOpsSpec['tool'];

  @Column({ type: 'text' })
  version!: string;

  @Column({ type: 'text' })
  digest!: string;

  @Column({ type: 'int' })
  bytes!: number;

  @Column({ type: 'text' })
  origin!: string;

  @Column({ type: 'text' })
  actor!: string;

  /** Bytes so far. */
  @Column({ type: 'int' })
  received!: number;

  @Column({ type: 'timestamptz', name: 'expires_at' })
  expiresAt!: Date;
}

@Entity('assignments')
export class AssignmentRow {
  @PrimaryColumn({ type: 'text', name: 'tenant_id' })
  tenantId!: string;

  @PrimaryColumn({ type: 'text' })
  name!: string;

  /** Counts its changes. */
  @Column({ type: 'int' })
  version!: number;

  @Column({ type: 'jsonb' })
  spec!: Assignment;

  /** What all its clusters were brought to last; null: its first rollout has not ended yet. */
  @Column({ type: 'jsonb', nullable: true })
  stable!: Assignment | null;

  @Column({ type: 'int', name: 'stable_version' })
  stableVersion!: number;
}

/** What a cluster follows at present. */
export interface Adopted {
  readonly version: number;
  readonly spec: Assignment;
}

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

  /** Since when registration shows it no more. */
  @Column({ type: 'timestamptz', name: 'absent_since', nullable: true })
  absentSince!: Date | null;

  /** The assignment that selects it. */
  @Column({ type: 'text', nullable: true })
  assignment!: string | null;

  @Column({ type: 'jsonb', nullable: true })
  adopted!: Adopted | null;

  /** With nothing adopted: what is to happen to what there is. */
  @Column({ type: 'text' })
  remove!: 'keep' | 'tool' | 'everything';

  /** What the newest desired state says about it. */
  @Column({ type: 'text' })
  removed!: 'keep' | 'tool' | 'everything';

  @Column({ type: 'jsonb', name: 'deploy_keys' })
  deployKeys!: DeployKeyState;

  /** Of the newest desired state; 0: there was none. */
  @Column({ type: 'bigint', transformer: asNumber })
  revision!: number;

  @Column({ type: 'timestamptz', name: 'revised_at', nullable: true })
  revisedAt!: Date | null;

  @Column({ type: 'jsonb', nullable: true })
  wish!: GitOpsSpec | null;

  /** The document with its signature, as it stands in the bucket. */
  @Column({ type: 'jsonb', nullable: true })
  signed!: { document: string; signerChain: string[]; signature: string } | null;

  @Column({ type: 'timestamptz', name: 'sign_again_at', nullable: true })
  signAgainAt!: Date | null;

  @Column({ type: 'text', name: 'waits_for', nullable: true })
  waitsFor!: string | null;

  /** When to look again at what is wanted of it; null: when something changes. */
  @Column({ type: 'timestamptz', name: 'due_at', nullable: true })
  dueAt!: Date | null;

  /** Counts what might change it, so that nothing is lost while it is looked at. */
  @Column({ type: 'bigint', transformer: asNumber })
  touched!: number;

  /** In a row. */
  @Column({ type: 'int' })
  failures!: number;

  /** The `touched` that what is wanted of it was last computed for, with success. */
  @Column({ type: 'bigint', transformer: asNumber })
  converged!: number;

  @Column({ type: 'jsonb', nullable: true })
  report!: Omit<InstallerReport, 'events'> | null;

  @Column({ type: 'timestamptz', name: 'reported_at', nullable: true })
  reportedAt!: Date | null;

  @Column({ type: 'text', nullable: true })
  phase!: Phase | null;

  @Column({ type: 'text', name: 'problem_code', nullable: true })
  problemCode!: string | null;

  /** When this service first heard of it. */
  @Column({ type: 'timestamptz', name: 'problem_since', nullable: true })
  problemSince!: Date | null;
}
