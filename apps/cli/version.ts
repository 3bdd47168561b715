import { readFileSync } from 'node:fs';
import { z } from 'zod';

const Manifest = z.object({ version: z.string() });

/** The version in the package's manifest, which lies beside the sources and one above what is built from them. */
export const VERSION = readVersion(['./package.json', '../package.json']);

function readVersion(places: readonly string[]): string {
  for (const place of places) {
    try {
      return Manifest.parse(JSON.parse(readFileSync(new URL(place, import.meta.url), 'utf8'))).version;
    } catch {
      // Not here: the next place.
    }
  }
  return 'unknown';
}
