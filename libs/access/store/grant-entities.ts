import type { MayImpersonate, Narrowing } from '@fairlead/access-rules';
import type { AccessRequest, Grant, Subject } from '@fairlead/contracts';
import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Which clusters something is for; both null: all of the tenant. */
export abstract class ScopedRow {
  @Column('text', { array: true, nullable: true }) clusterNames!: string[] | null;
  @Column('text', { nullable: true }) clusterSelector!: string | null;
}

@Entity('grants')
export class GrantRow extends ScopedRow {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') tenantId!: string;
  @Column('text') subjectKind!: Subject['kind'];
  @Column('text') subjectName!: string;
  /** Of its subject, in the bucket `grants`. */
  @Column('text') bucketKey!: string;
  @Column('text') effect!: Grant['effect'];
  @Column('text', { nullable: true }) role!: Grant['role'];
  @Column('text', { array: true, name: 'group_names' }) groups!: string[];
  @Column('jsonb') narrowing!: Narrowing;
  @Column('jsonb', { nullable: true }) impersonate!: MayImpersonate | null;
  /** Null: it is not for a client, or denies all. */
  @Column('text', { array: true, nullable: true }) targets!: string[] | null;
  @Column('timestamptz', { nullable: true }) notBefore!: Date | null;
  @Column('timestamptz', { nullable: true }) expiresAt!: Date | null;
  @Column('text') reason!: string;
  @Column('text') createdBy!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('uuid', { nullable: true }) requestId!: string | null;
  /** It is kept for a while after that, for those who ask who could do what. */
  @Column('timestamptz', { nullable: true }) endedAt!: Date | null;
  /** Null: its time was over. */
  @Column('text', { nullable: true }) endedBy!: string | null;
}

@Entity('access_requests')
export class AccessRequestRow extends ScopedRow {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') tenantId!: string;
  @Column('text', { name: 'user_name' }) user!: string;
  @Column('text') role!: AccessRequest['role'];
  @Column('jsonb') narrowing!: Narrowing;
  @Column('int') seconds!: number;
  @Column('text') reason!: string;
  /** As it was written down last; by the clock it may have lapsed since. */
  @Column('text') state!: AccessRequest['state'];
  @Column('timestamptz') createdAt!: Date;
  @Column('text', { nullable: true }) decidedBy!: string | null;
  @Column('timestamptz', { nullable: true }) decidedAt!: Date | null;
  @Column('uuid', { nullable: true }) grantId!: string | null;
}

@Entity('lockdowns')
export class LockdownRow {
  /** In the bucket `grants`. */
  @PrimaryColumn('text') bucketKey!: string;
  @Column('text') tenantId!: string;
  /** Both null: every cluster of the tenant. */
  @Column('text', { nullable: true }) clusterName!: string | null;
  @Column('uuid', { nullable: true }) clusterId!: string | null;
  @Column('text', { name: 'begun_by' }) by!: string;
  @Column('timestamptz', { name: 'begun_at' }) at!: Date;
  @Column('text') reason!: string;
}
