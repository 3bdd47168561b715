import { readFileSync } from 'node:fs';
import { getAsset, isSea } from 'node:sea';
import { z } from 'zod';

const Manifest = z.object({ version: z.string() });

/** The version in the package's manifest, which lies beside the sources and one above what is built from them; in a single file it is inside. */
export const VERSION = isSea()
  ? parse(getAsset('package.json', 'utf8'))
  : readVersion(['./package.json', '../package.json']);

function readVersion(places: readonly string[]): string {
  for (const place of places) {
    try {
      return parse(readFileSync(new URL(place, import.meta.url), 'utf8'));
    } catch {
      // Not here: the next place.
    }
  }
  return 'unknown';
}

function parse(manifest: string): string {
  return Manifest.parse(JSON.parse(manifest)).version;
}
