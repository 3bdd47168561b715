import type { FairleadError } from '@fairlead/errors';
import { z } from 'zod';
import type { Repository, RightsReport, RightsSpec } from '../git-host.js';
import { type RepositoryPath, isSshUrl } from '../repository-path.js';

/** A deploy key as a host gives it. */
export interface HostKey {
  readonly id: string;
  readonly title: string;
  readonly key: string;
  readonly readOnly: boolean;
  readonly enabled: boolean;
}

/** What differs between hosts. All methods throw what `GitHost` says; NOT_FOUND where the repository is not there or not seen. */
export interface HostApi {
  readonly kind: 'github' | 'gitlab' | 'gitea';
  /** May owners be nested? */
  readonly nested: boolean;
  rights(spec: RightsSpec, signal: AbortSignal): Promise<RightsReport>;
  repository(path: RepositoryPath, signal: AbortSignal): Promise<Repository | null>;
  /** Throws INVALID_ARGUMENT or CONFLICT where there is one already, too. */
  createRepository(path: RepositoryPath, signal: AbortSignal): Promise<Repository>;
  keys(path: RepositoryPath, signal: AbortSignal): Promise<HostKey[]>;
  /** Null: neither the key, nor possibly the repository. */
  key(path: RepositoryPath, id: string, signal: AbortSignal): Promise<HostKey | null>;
  /** Always one that may only read. Throws INVALID_ARGUMENT or CONFLICT when the host refuses it. */
  createKey(path: RepositoryPath, key: { title: string; key: string }, signal: AbortSignal): Promise<HostKey>;
  /** False: it was not there. */
  deleteKey(path: RepositoryPath, id: string, signal: AbortSignal): Promise<boolean>;
  /** The commit, or null: neither the branch, nor possibly the repository. */
  branch(path: RepositoryPath, branch: string, signal: AbortSignal): Promise<string | null>;
}

/** Nobody knows whether a write that failed so was carried out: the answer was lost, or late. */
export function isUncertain({ code }: FairleadError): boolean {
  return code === 'UNAVAILABLE' || code === 'DEADLINE_EXCEEDED';
}

/** Parts of answers that all hosts have, with bounds. What else stands in an answer is dropped. */
export const hostId = z.number().int().positive().safe();
export const shortText = z.string().max(500);
export const commitId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);
export const sshUrl = z.string().max(2_000).refine(isSshUrl);
export const keyTitle = z.string().max(2_000);
export const keyText = z.string().max(16_384);
/** A branch, or what stands for none. */
export const branchName = z.string().max(500).nullish();
