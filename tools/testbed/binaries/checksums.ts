import { TestbedError } from '../errors.js';

/**
 * The SHA-256 (lower-case hex) a checksum file gives for a file. Understands a bare sum (dl.k8s.io's `.sha256`) and the lines of
 * sha256sum, `sum  name` or `sum *name` (GitHub's SHA256SUMS). Throws TestbedError when the file is not in it, or twice with
 * different sums.
 */
export function sumFor(text: string, file: string): string {
  const bare = /^\s*([0-9a-f]{64})\s*$/iu.exec(text);
  if (bare) return bare[1]!.toLowerCase();
  const sums = new Set<string>();
  for (const line of text.split('\n')) {
    const parts = /^([0-9a-f]{64}) [ *](.+?)\r?$/iu.exec(line);
    if (parts && parts[2]!.replace(/^\.\//u, '') === file) sums.add(parts[1]!.toLowerCase());
  }
  if (sums.size !== 1) throw new TestbedError(`the checksum file has ${sums.size} sums for ${file}, not one`);
  return [...sums][0]!;
}
