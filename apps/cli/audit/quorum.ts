import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  countingPolicy,
  isFulfilledBy,
  openCheckpoint,
  parseVerifierKey,
  parseWitnessPolicy,
  verifyPolicy,
  type OpenedCheckpoint,
  type WitnessPolicy,
} from '@fairlead/transparency-log';
import { usage } from '../failure.js';
import type { ApiClient } from '../session/api-client.js';
import { AuditWitnessList } from '../session/audit-log-answers.js';

const LOOK_EVERY_MS = 1_000;

export interface QuorumOptions {
  readonly quorum?: number;
  readonly witness?: readonly string[];
  readonly policy?: string;
}

/** What is asked of witnesses; undefined: nothing. */
export async function policyOf({ quorum, witness = [], policy }: QuorumOptions): Promise<WitnessPolicy | undefined> {
  const counts = quorum !== undefined || witness.length > 0;
  if (policy === undefined && !counts) return undefined;
  if (policy !== undefined && counts)
    throw usage('--policy says which witnesses are enough, and so do --quorum and --witness', 'give one of both');
  if (policy === undefined) {
    if (witness.length === 0)
      throw usage('nobody is named whose cosignature counts', 'give --witness with the key of each');
    return countingPolicy(witness, quorum ?? witness.length);
  }
  const read = parseWitnessPolicy(await readFile(policy, 'utf8'));
  if (read.quorum === 'none') throw usage(`${policy} asks for no witness`, 'name a quorum in it');
  return read;
}

export interface Cosigned {
  /** Of at least as many entries as the log had, cosigned by enough witnesses. Undefined: there is none. */
  readonly newest: OpenedCheckpoint | undefined;
  /** All that enough witnesses cosigned, which the log has to go on from. */
  readonly all: readonly OpenedCheckpoint[];
  /** Who cosigned the newest one; of nobody, what witnesses are said to have made of it. */
  readonly by: readonly string[];
}

interface Question {
  readonly policy: WitnessPolicy;
  readonly head: OpenedCheckpoint;
  readonly verifierKey: string;
  readonly waitMs: number;
}

/** Waits until enough witnesses cosigned what the log had when it was asked, for as long as that may still become so. */
export async function cosignedOf(api: ApiClient, { policy, head, verifierKey, waitMs }: Question): Promise<Cosigned> {
  const key = parseVerifierKey(verifierKey);
  const until = Date.now() + waitMs;
  for (;;) {
    const { witnesses, checkpoints } = await api.ask(AuditWitnessList, '/v1/audit/log/witnesses');
    const held = checkpoints.flatMap(({ checkpoint: note }) => {
      const { reached, cosigned } = verifyPolicy(Buffer.from(note), policy);
      const by = cosigned.map(({ name, at }) => `${shownName(policy, name)} at ${at.toISOString()}`);
      return reached ? [{ checkpoint: openCheckpoint(Buffer.from(note), head.origin, [key]), by }] : [];
    });
    const all = held.map(({ checkpoint }) => checkpoint);
    const newest = held
      .filter(({ checkpoint }) => checkpoint.size >= head.size)
      .sort(bySize)
      .at(-1);
    if (newest) return { newest: newest.checkpoint, all, by: newest.by };
    const told = new Map(witnesses.map((witness) => [witness.verifierKey, witness]));
    const mayYet = policy.witnesses.filter(({ verifierKey: each }) => told.get(each)?.state !== 'refused');
    const names = new Set(mayYet.map(({ name }) => name));
    if (Date.now() >= until || !isFulfilledBy(policy, names)) {
      const by = policy.witnesses.map(({ name, verifierKey: each }) => {
        const { state, why, size } = told.get(each) ?? { state: 'not asked by this server', why: '', size: 0 };
        const last = size > 0 ? `, cosigned ${size} entries last` : '';
        return `${shownName(policy, name)}: ${state}${last}${why === '' ? '' : ` (${why})`}`;
      });
      return { newest: undefined, all, by };
    }
    await sleep(LOOK_EVERY_MS);
  }
}

const bySize = (left: { checkpoint: OpenedCheckpoint }, right: { checkpoint: OpenedCheckpoint }): number =>
  left.checkpoint.size - right.checkpoint.size;

function shownName(policy: WitnessPolicy, name: string): string {
  return policy.witnesses.find((witness) => witness.name === name)?.key.name ?? name;
}
