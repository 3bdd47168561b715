import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ApiTokenKind } from '../domain/token-identity.js';

@Entity('api_tokens')
export class ApiTokenRow {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') tenantId!: string;
  @Column('text') kind!: ApiTokenKind;
  /** Unique among those of its tenant and kind that are not revoked. */
  @Column('text') name!: string;
  @Column('text') tokenHash!: string;
  @Column('text') createdBy!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz', { nullable: true }) expiresAt!: Date | null;
  /** To the minute. */
  @Column('timestamptz', { nullable: true }) lastUsedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) revokedAt!: Date | null;
}
