import { existsSync } from 'node:fs';

/** Where Debian, Fedora and others put it. */
const PLACES = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64', '/usr/lib'];

/**
 * What a gateway allocates with, as in its image (Dockerfile): mimalloc, which gives back to the system what is not used any more, and costs no more than glibc,
 * which keeps the 20 to 50 MB that a flood took in pieces, for good (docs/adr/0081). Nothing where mimalloc is not installed: glibc is used then.
 */
export function allocatorEnvironment(): Readonly<Record<string, string>> {
  const library = PLACES.map((place) => `${place}/${ALLOCATOR}`).find((path) => existsSync(path));
  return process.platform === 'linux' && library !== undefined ? { LD_PRELOAD: library } : {};
}

/** The library's name: of Debian's package libmimalloc2.0. */
export const ALLOCATOR = 'libmimalloc.so.2';
