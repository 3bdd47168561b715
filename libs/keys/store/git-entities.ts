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
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ type: 'text', name: 'tenant_id' })
  tenantId!: string;

  @Column({ type: 'text' })
  name!: string;

  @Column({ type: 'text' })
  kind!: GitHostKind;

  /** Null with `manual`. */
  @Column({ type: 'text', nullable: true })
  url!: string | null;

  @Column({ type: 'text', name: 'ssh_host' })
  sshHost!: string;

  @Column({ type: 'int', name: 'ssh_port' })
  sshPort!: number;

  @Column({ type: 'text', name: 'ca_pem', nullable: true })
  caPem!: string | null;

  @Column({ type: 'boolean', name: 'create_repositories' })
  createRepositories!: boolean;

  /** See store/sealer.ts. */
  @Column({ type: 'bytea', name: 'sealed_token', nullable: true })
  sealedToken!: Buffer | null;

  @Column({ type: 'timestamptz', name: 'token_expires_at', nullable: true })
  tokenExpiresAt!: Date | null;

  /** Somebody was told that this token ends soon. */
  @Column({ type: 'boolean', name: 'expiry_told' })
  expiryTold!: boolean;

  @Column({ type: 'timestamptz', name: 'checked_at', nullable: true })
  checkedAt!: Date | null;

  @Column({ type: 'jsonb' })
  findings!: StoredFinding[];

  @Column({ type: 'text', name: 'problem_code', nullable: true })
  problemCode!: string | null;

  @Column({ type: 'text', name: 'problem_message', nullable: true })
  problemMessage!: string | null;

  /** Nothing is sent before it. */
  @Column({ type: 'timestamptz', name: 'retry_at', nullable: true })
  retryAt!: Date | null;

  /** In a row. */
  @Column({ type: 'int' })
  failures!: number;

  /** When its SSH keys were last seen. */
  @Column({ type: 'timestamptz', name: 'scanned_at', nullable: true })
  scannedAt!: Date | null;

  @Column({ type: 'timestamptz', name: 'scan_due_at' })
  scanDueAt!: Date;

  /** Goes up with each change by an administrator. */
  @Column({ type: 'int' })
  revision!: number;
}

@Entity('git_host_keys')
export class GitHostKeyRow {
  @PrimaryColumn({ type: 'uuid', name: 'host_id' })
  hostId!: string;

  @PrimaryColumn({ type: 'text' })
  fingerprint!: string;

  @Column({ type: 'text' })
  type!: string;

  /** `TYPE BASE64`. */
  @Column({ type: 'text', name: 'public_key' })
  publicKey!: string;

  @Column({ type: 'text' })
  state!: HostKeyState;

  @Column({ type: 'timestamptz', name: 'first_seen_at' })
  firstSeenAt!: Date;

  @Column({ type: 'timestamptz', name: 'last_seen_at', nullable: true })
  lastSeenAt!: Date | null;

  @Column({ type: 'text', name: 'decided_by', nullable: true })
  decidedBy!: string | null;
}

@Entity('deploy_keys')
export class DeployKeyRow {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ type: 'text', name: 'tenant_id' })
  tenantId!: string;

  @Column({ type: 'uuid', name: 'cluster_id' })
  clusterId!: string;

  @Column({ type: 'uuid', name: 'repository_id' })
  repositoryId!: string;

  @Column({ type: 'int' })
  number!: number;

  @Column({ type: 'text', name: 'cluster_name' })
  clusterName!: string;

  @Column({ type: 'uuid', name: 'host_id' })
  hostId!: string;

  @Column({ type: 'text' })
  path!: string;

  @Column({ type: 'text', name: 'public_key' })
  publicKey!: string;

  @Column({ type: 'text' })
  fingerprint!: string;

  @Column({ type: 'text' })
  state!: DeployKeyState;

  /** Another key took its number: this one only goes. */
  @Column({ type: 'boolean' })
  superseded!: boolean;

  @Column({ type: 'text', nullable: true })
  instructions!: string | null;

  @Column({ type: 'text', name: 'problem_code', nullable: true })
  problemCode!: string | null;

  @Column({ type: 'text', name: 'problem_message', nullable: true })
  problemMessage!: string | null;

  /** Of the host, of the key that we added. Null: it is not there, or somebody else added it. */
  @Column({ type: 'text', name: 'remote_id', nullable: true })
  remoteId!: string | null;

  @Column({ type: 'timestamptz', name: 'seen_at', nullable: true })
  seenAt!: Date | null;

  @Column({ type: 'int' })
  restored!: number;

  @Column({ type: 'timestamptz', name: 'state_since' })
  stateSince!: Date;
}
