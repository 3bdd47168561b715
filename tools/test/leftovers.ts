// What a test file left behind in its process: whatever still runs, and whatever would hide an error of the next file.

/** Vitest's own: pipes for output and for messages. */
const OF_THE_WORKER = new Map([['PipeWrap', 3]]);
/** Vitest listens to each of these once; a second listener would keep it from telling. */
const ERRORS = ['uncaughtException', 'unhandledRejection'];

/** One word for each thing too many, e.g. `TCPServerWrap`; empty if the process may take another file. */
export function leftovers(resources: readonly string[], listeners: (event: string) => number): string[] {
  const left = [...countsOf(resources)].filter(([name, count]) => count > (OF_THE_WORKER.get(name) ?? 0));
  return [...left.map(([name]) => name), ...ERRORS.filter((event) => listeners(event) > 1)];
}

function countsOf(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
