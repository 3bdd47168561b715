import { z } from 'zod';
import { isSshUrl } from '../repository-path.js';

/** Parts of answers that all hosts have, with bounds. What else stands in an answer is dropped. */
export const hostId = z.number().int().positive().safe();
export const shortText = z.string().max(500);
export const commitId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);
export const sshUrl = z.string().max(2_000).refine(isSshUrl);
export const keyTitle = z.string().max(2_000);
export const keyText = z.string().max(16_384);
/** A branch, or what stands for none. */
export const branchName = z.string().max(500).nullish();
