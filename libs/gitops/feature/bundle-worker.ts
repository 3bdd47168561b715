import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import type { Tool } from '@fairlead/desired-state';
import { toFairleadError, type WireError } from '@fairlead/errors';
import { inspectBundle, type BundleContents } from '../domain/inspect-bundle.js';

/**
 * This file, as this package exports it: whoever starts it finds what was compiled, wherever it runs from. It is imported for this name too,
 * so that who packs only what is imported takes it along.
 */
export const BUNDLE_WORKER = '@fairlead/gitops/bundle-worker';

/** What a worker is to do. */
export interface BundleWork {
  readonly for: typeof BUNDLE_WORKER;
  readonly tool: Tool;
  readonly yaml: Uint8Array;
}

export type BundleAnswer = { readonly contents: BundleContents } | { readonly refused: WireError };

const work = workerData as BundleWork | null;
// Imported, it does nothing.
if (!isMainThread && work?.for === BUNDLE_WORKER) void answerTo(work).then((answer) => parentPort?.postMessage(answer));

async function answerTo({ tool, yaml }: BundleWork): Promise<BundleAnswer> {
  try {
    return { contents: await inspectBundle(tool, yaml) };
  } catch (error) {
    return { refused: toFairleadError(error).toWire() };
  }
}
