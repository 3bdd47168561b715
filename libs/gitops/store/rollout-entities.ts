import type { Assignment, Rollout } from '@fairlead/contracts';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { BreakerState } from '../domain/breaker.js';
import type { RolloutState } from '../domain/rollout.js';
import type { Adopted } from './entities.js';

@Entity('rollouts')
export class RolloutRow {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ type: 'text', name: 'tenant_id' })
  tenantId!: string;

  @Column({ type: 'text' })
  assignment!: string;

  /** Of the assignment. */
  @Column({ type: 'int' })
  version!: number;

  @Column({ type: 'jsonb' })
  spec!: Assignment;

  /** What its clusters had before, each once. */
  @Column({ type: 'jsonb' })
  formers!: Adopted[];

  /** Cluster to place in `formers`; those that had nothing are not in it. */
  @Column({ type: 'jsonb', name: 'former_of' })
  formerOf!: Record<string, number>;

  @Column({ type: 'jsonb' })
  progress!: RolloutState;

  /** Of `progress`. */
  @Column({ type: 'text' })
  state!: Rollout['state'];

  @Column({ type: 'timestamptz', name: 'started_at' })
  startedAt!: Date;

  @Column({ type: 'timestamptz', name: 'ended_at', nullable: true })
  endedAt!: Date | null;
}

@Entity('breakers')
export class BreakerRow {
  @PrimaryColumn({ type: 'text', name: 'tenant_id' })
  tenantId!: string;

  @Column({ type: 'jsonb' })
  breaker!: BreakerState;

  /** What desired states were last told. */
  @Column({ type: 'boolean', name: 'held_repairs' })
  heldRepairs!: boolean;
}
