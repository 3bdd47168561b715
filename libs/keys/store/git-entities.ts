import type { GitHostKind } from '@fairlead/contracts';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { DeployKeyState } from '../domain/deploy-key-plan.js';
import type { HostKeyState } from '../domain/host-key-set.js';

/** What a token may do, as it was found out last. */
export interface StoredFinding {
  readonly verdict: 'granted' | 'missing' | 'too-wide' | 'unverified';
  readonly right: string;
  readonly why: string;
}

@Entity('git_hosts')
export class GitHostRow {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') tenantId!: string;
  @Column('text') name!: string;
  @Column('text') kind!: GitHostKind;
  /** Null with `manual`. */
  @Column('text', { nullable: true }) url!: string | null;
  @Column('text') sshHost!: string;
  @Column('int') sshPort!: number;
  @Column('text', { nullable: true }) caPem!: string | null;
  @Column('boolean') createRepositories!: boolean;
  /** See store/sealer.ts. */
  @Column('bytea', { nullable: true }) sealedToken!: Buffer | null;
  @Column('timestamptz', { nullable: true }) tokenExpiresAt!: Date | null;
  /** Somebody was told that this token ends soon. */
  @Column('boolean') expiryTold!: boolean;
  @Column('timestamptz', { nullable: true }) checkedAt!: Date | null;
  @Column('jsonb') findings!: StoredFinding[];
  @Column('text', { nullable: true }) problemCode!: string | null;
  @Column('text', { nullable: true }) problemMessage!: string | null;
  /** Nothing is sent before it. */
  @Column('timestamptz', { nullable: true }) retryAt!: Date | null;
  /** In a row. */
  @Column('int') failures!: number;
  /** When its SSH keys were last seen. */
  @Column('timestamptz', { nullable: true }) scannedAt!: Date | null;
  @Column('timestamptz') scanDueAt!: Date;
  /** Goes up with each change by an administrator. */
  @Column('int') revision!: number;
}

@Entity('git_host_keys')
export class GitHostKeyRow {
  @PrimaryColumn('uuid') hostId!: string;
  @PrimaryColumn('text') fingerprint!: string;
  @Column('text') type!: string;
  /** `TYPE BASE64`. */
  @Column('text') publicKey!: string;
  @Column('text') state!: HostKeyState;
  @Column('timestamptz') firstSeenAt!: Date;
  @Column('timestamptz', { nullable: true }) lastSeenAt!: Date | null;
  @Column('text', { nullable: true }) decidedBy!: string | null;
}

@Entity('deploy_keys')
export class DeployKeyRow {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') tenantId!: string;
  @Column('uuid') clusterId!: string;
  @Column('uuid') repositoryId!: string;
  @Column('int') number!: number;
  @Column('text') clusterName!: string;
  @Column('uuid') hostId!: string;
  @Column('text') path!: string;
  @Column('text') publicKey!: string;
  @Column('text') fingerprint!: string;
  @Column('text') state!: DeployKeyState;
  /** Another key took its number: this one only goes. */
  @Column('boolean') superseded!: boolean;
  @Column('text', { nullable: true }) instructions!: string | null;
  @Column('text', { nullable: true }) problemCode!: string | null;
  @Column('text', { nullable: true }) problemMessage!: string | null;
  /** Of the host, of the key that we added. Null: it is not there, or somebody else added it. */
  @Column('text', { nullable: true }) remoteId!: string | null;
  @Column('timestamptz', { nullable: true }) seenAt!: Date | null;
  @Column('int') restored!: number;
  @Column('timestamptz') stateSince!: Date;
}
