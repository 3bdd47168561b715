import { createHash } from 'node:crypto';

/** The root of records by the words of RFC 6962, 2.1, without anything remembered: what the fast way is compared with. */
export function naiveRoot(entries: readonly Uint8Array[]): Uint8Array {
  if (entries.length === 0) return sha256();
  if (entries.length === 1) return sha256(Uint8Array.of(0), entries[0]!);
  const middle = split(entries.length);
  return sha256(Uint8Array.of(1), naiveRoot(entries.slice(0, middle)), naiveRoot(entries.slice(middle)));
}

/** PATH(m, D[n]) of RFC 6962, 2.1.1. */
export function naiveInclusion(index: number, entries: readonly Uint8Array[]): Uint8Array[] {
  if (entries.length === 1) return [];
  const middle = split(entries.length);
  const [left, right] = [entries.slice(0, middle), entries.slice(middle)];
  return index < middle
    ? [...naiveInclusion(index, left), naiveRoot(right)]
    : [...naiveInclusion(index - middle, right), naiveRoot(left)];
}

/** PROOF(m, D[n]) of RFC 6962, 2.1.2. */
export function naiveConsistency(oldSize: number, entries: readonly Uint8Array[], isWhole = true): Uint8Array[] {
  if (oldSize === entries.length) return isWhole ? [] : [naiveRoot(entries)];
  const middle = split(entries.length);
  const [left, right] = [entries.slice(0, middle), entries.slice(middle)];
  return oldSize <= middle
    ? [...naiveConsistency(oldSize, left, isWhole), naiveRoot(right)]
    : [...naiveConsistency(oldSize - middle, right, false), naiveRoot(left)];
}

function split(size: number): number {
  let power = 1;
  while (power * 2 < size) power *= 2;
  return power;
}

function sha256(...parts: readonly Uint8Array[]): Uint8Array {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}
