import type { Assignment, Rollout } from '@fairlead/contracts';
import type { GitOpsSpec, InstallerReport, Phase } from '@fairlead/desired-state';
import { Column, CreateDateColumn, Entity, PrimaryColumn, type ValueTransformer } from 'typeorm';
import type { AdoptedSpec } from '../domain/select-assignment.js';
import type { DeployKeyState } from '../domain/key-state.js';
import type { BreakerState } from '../domain/breaker.js';
import type { RolloutState } from '../domain/rollout.js';

/** Postgres' bigint; ours stay below 2^53. */
const asNumber: ValueTransformer = { to: (value: number) => value, from: (value: string) => Number(value) };

@Entity('repositories')
export class RepositoryRow {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') tenantId!: string;
  /** Unique in its tenant. */
  @Column('text') name!: string;
  @Column('text') gitHost!: string;
  @Column('uuid') hostId!: string;
  @Column('text') path!: string;
  @Column('text') sshUrl!: string;
  @Column('text', { nullable: true }) defaultBranch!: string | null;
  /** Deploy keys get no older, in seconds; null: by no schedule. */
  @Column('int', { nullable: true }) rotateKeysSeconds!: number | null;
  @CreateDateColumn({ type: 'timestamptz' }) createdAt!: Date;
}

@Entity('bundles')
export class BundleRow {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') tenantId!: string;
  @Column('text') tool!: GitOpsSpec['tool'];
  @Column('text') version!: string;
  /** Of the YAML, hex. */
  @Column('text') digest!: string;
  @Column('int') bytes!: number;
  @Column('int') compressedBytes!: number;
  @Column('int') objects!: number;
  @Column('text', { array: true }) images!: string[];
  @Column('text') origin!: string;
  @Column('text') importedBy!: string;
  @Column('timestamptz') importedAt!: Date;
  /** Gzip. Read in pieces. */
  @Column('bytea', { select: false }) content!: Buffer;
}

@Entity('bundle_uploads')
export class UploadRow {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') tenantId!: string;
  @Column('text') tool!: GitOpsSpec['tool'];
  @Column('text') version!: string;
  @Column('text') digest!: string;
  @Column('int') bytes!: number;
  @Column('text') origin!: string;
  @Column('text') actor!: string;
  /** Bytes so far. */
  @Column('int') received!: number;
  @Column('timestamptz') expiresAt!: Date;
}

@Entity('assignments')
export class AssignmentRow {
  @PrimaryColumn('text') tenantId!: string;
  @PrimaryColumn('text') name!: string;
  /** Counts its changes. */
  @Column('int') version!: number;
  @Column('jsonb') spec!: Assignment;
  /** What all its clusters were brought to last; null: its first rollout has not ended yet. */
  @Column('jsonb', { nullable: true }) stable!: Assignment | null;
  @Column('int') stableVersion!: number;
}

@Entity('clusters')
export class ClusterRow {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') tenantId!: string;
  @Column('text') name!: string;
  @Column('jsonb') labels!: Record<string, string>;
  /** Since when registration shows it no more. */
  @Column('timestamptz', { nullable: true }) absentSince!: Date | null;
  /** The assignment that selects it. */
  @Column('text', { nullable: true }) assignment!: string | null;
  @Column('jsonb', { nullable: true }) adopted!: AdoptedSpec | null;
  /** With nothing adopted: what is to happen to what there is. */
  @Column('text') remove!: 'keep' | 'tool' | 'everything';
  /** What the newest desired state says about it. */
  @Column('text') removed!: 'keep' | 'tool' | 'everything';
  @Column('jsonb') deployKeys!: DeployKeyState;
  /** Of the newest desired state; 0: there was none. */
  @Column('bigint', { transformer: asNumber }) revision!: number;
  @Column('timestamptz', { nullable: true }) revisedAt!: Date | null;
  @Column('jsonb', { nullable: true }) wish!: GitOpsSpec | null;
  /** The document with its signature, as it stands in the bucket. */
  @Column('jsonb', { nullable: true }) signed!: { document: string; signerChain: string[]; signature: string } | null;
  @Column('timestamptz', { nullable: true }) signAgainAt!: Date | null;
  @Column('text', { nullable: true }) waitsFor!: string | null;
  /** When to look again at what is desired of it; null: when something changes. */
  @Column('timestamptz', { nullable: true }) dueAt!: Date | null;
  /** Counts what might change it, so that nothing is lost while it is looked at. */
  @Column('bigint', { transformer: asNumber }) touched!: number;
  /** In a row. */
  @Column('int') failures!: number;
  /** The `touched` that what is desired of it was last computed for, with success. */
  @Column('bigint', { transformer: asNumber }) converged!: number;
  @Column('jsonb', { nullable: true }) report!: Omit<InstallerReport, 'events'> | null;
  @Column('timestamptz', { nullable: true }) reportedAt!: Date | null;
  @Column('text', { nullable: true }) phase!: Phase | null;
  @Column('text', { nullable: true }) problemCode!: string | null;
  /** When this service first heard of it. */
  @Column('timestamptz', { nullable: true }) problemSince!: Date | null;
}

@Entity('rollouts')
export class RolloutRow {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') tenantId!: string;
  @Column('text') assignment!: string;
  /** Of the assignment. */
  @Column('int') version!: number;
  @Column('jsonb') spec!: Assignment;
  /** What its clusters had before, each once. */
  @Column('jsonb') formers!: AdoptedSpec[];
  /** Cluster to place in `formers`; those that had nothing are not in it. */
  @Column('jsonb') formerOf!: Record<string, number>;
  @Column('jsonb') progress!: RolloutState;
  /** Of `progress`. */
  @Column('text') state!: Rollout['state'];
  @Column('timestamptz') startedAt!: Date;
  @Column('timestamptz', { nullable: true }) endedAt!: Date | null;
}

@Entity('breakers')
export class BreakerRow {
  @PrimaryColumn('text') tenantId!: string;
  @Column('jsonb') breaker!: BreakerState;
  /** What desired states were last told. */
  @Column('boolean') heldRepairs!: boolean;
}
