import type { Issuer } from '@fairlead/contracts';
import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('issuers')
export class IssuerRow {
  /** Unique in the installation: a login names its issuer before anybody knows its tenant. */
  @PrimaryColumn('text') name!: string;
  @Column('text') tenantId!: string;
  @Column('jsonb') definition!: Issuer;
}

/** One person's login and its renewals. */
@Entity('sessions')
export class SessionRow {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') tenantId!: string;
  @Column('text') issuer!: string;
  @Column('text') subject!: string;
  @Column('text') userName!: string;
  @Column('text') secretHash!: string;
  @Column('text', { nullable: true }) nonce!: string | null;
  @Column('timestamptz') begunAt!: Date;
  @Column('timestamptz') endsAt!: Date;
}

/** A short token that is good until its end. */
@Entity('logins')
export class LoginRow {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') tenantId!: string;
  @Column('text') issuer!: string;
  @Column('text') kind!: 'login' | 'workload';
  /** Null: a program's. */
  @Column('uuid', { nullable: true }) sessionId!: string | null;
  @Column('text') userName!: string;
  @Column('text', { array: true }) subjectGroups!: string[];
  @Column('text') tokenHash!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') expiresAt!: Date;
}

/** An ID token that was exchanged: the hash of what is under its signature. */
@Entity('spent_tokens')
export class SpentTokenRow {
  @PrimaryColumn('text') hash!: string;
  /** It would not be taken after this in any case. */
  @Column('timestamptz') keepUntil!: Date;
}

@Entity('known_users')
export class KnownUserRow {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') tenantId!: string;
  @Column('text') name!: string;
  @Column('text') kind!: 'user' | 'workload';
  @Column('text') issuer!: string;
  @Column('text', { name: 'group_names', array: true }) groups!: string[];
  /** When the token was issued that said so. */
  @Column('timestamptz') groupsAsOf!: Date;
  @Column('timestamptz') firstLoginAt!: Date;
  @Column('timestamptz') lastLoginAt!: Date;
}
