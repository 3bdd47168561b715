import type { Assignment } from '@fairlead/contracts';

/** Clusters in waves of these sizes, and the rest in a last one; in their order, those that nobody hears of at the end. */
export function planWaves(
  sizes: Assignment['rollout']['waves'],
  clusters: readonly { readonly id: string; readonly silent: boolean }[],
): string[][] {
  const ordered = [...clusters.filter(({ silent }) => !silent), ...clusters.filter(({ silent }) => silent)];
  const waves: string[][] = [];
  let at = 0;
  for (const size of [...sizes, '100%']) {
    const count = typeof size === 'number' ? size : Math.ceil((clusters.length * Number.parseInt(size, 10)) / 100);
    const wave = ordered.slice(at, at + count).map(({ id }) => id);
    if (wave.length > 0) waves.push(wave);
    at += count;
  }
  return waves;
}
