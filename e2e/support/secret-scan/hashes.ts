import { createHash } from 'node:crypto';
import type { Stack } from '@fairlead/stack';
import { queryDatabase } from '../service-database.js';

const STATEMENTS = {
  registration: `
  select code_hash as hash, 'the code of an import link' as name from registration.import_links
  union all select secret_hash, 'the secret of bootstrap token ' || id from registration.bootstrap_tokens`,
  access: `select token_hash as hash, 'an API token' as name from access.api_tokens`,
} as const;
/** How 256 random bits are written where they are given to somebody; in an API token, after its mark. */
const WRITTEN = /(?<![A-Za-z0-9_-])(?:fairlead_)?[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])/g;

/** What is kept of secrets that nobody has any more, such as the links that the command makes and fetches by itself: hash to name. */
export async function storedHashes(stack: Stack): Promise<Map<string, string>> {
  if (stack.process('postgres').pid === undefined) return new Map();
  const hashes = new Map<string, string>();
  for (const service of ['registration', 'access'] as const) {
    const rows = await queryDatabase<{ hash: string; name: string }>(stack, service, STATEMENTS[service]);
    for (const { hash, name } of rows) hashes.set(hash, name);
  }
  return hashes;
}

/** Names of those whose hash is known. */
export function findHashed(text: string, hashes: ReadonlyMap<string, string>): Set<string> {
  const found = new Set<string>();
  for (const [written] of text.matchAll(WRITTEN)) {
    for (const secret of [written, Buffer.from(written, 'base64url')]) {
      const name = hashes.get(createHash('sha256').update(secret).digest('base64'));
      if (name !== undefined) found.add(name);
    }
  }
  return found;
}
