import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** How long a token is kept before its file is read again. The kubelet replaces one long before it expires; client-go keeps it for a minute. */
const KEEP_MS = 10_000;

/** What the kubelet mounts for a pod. */
export interface ServiceAccount {
  readonly caPem: string;
  /** The token as it was at most 10 s ago. Rejects if its file cannot be read. */
  readonly token: () => Promise<string>;
}

/** Rejects if the authority's certificate cannot be read. `nowMs` never goes back. */
export async function readServiceAccount(dir: string, nowMs: () => number): Promise<ServiceAccount> {
  const read = (file: string): Promise<string> => readFile(join(dir, file), 'utf8');
  let kept: { readonly text: Promise<string>; readonly untilMs: number } | undefined;
  return {
    caPem: await read('ca.crt'),
    token: () => {
      if (kept && nowMs() < kept.untilMs) return kept.text;
      const text = read('token').then((found) => found.trim());
      const current = { text, untilMs: nowMs() + KEEP_MS };
      kept = current;
      // One that could not be read is not kept.
      text.catch(() => (kept = kept === current ? undefined : kept));
      return text;
    },
  };
}
