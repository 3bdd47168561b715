/** Runs `count` tasks, at most `parallel` at a time, in order; rejects with the first failure once all that began are over. */
export async function runAll(count: number, parallel: number, task: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  let failed: { readonly reason: unknown } | undefined;
  const worker = async (): Promise<void> => {
    while (next < count && !failed) {
      const index = next;
      next += 1;
      try {
        await task(index);
      } catch (reason) {
        failed ??= { reason };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, count) }, () => worker()));
  if (failed) throw failed.reason;
}

/** The value below which this share of the values lies; 0 of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
