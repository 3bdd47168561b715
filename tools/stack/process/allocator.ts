import { existsSync } from 'node:fs';

/** Where Debian, Fedora and others put it. */
const PLACES = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64', '/usr/lib'];

/**
 * What a gateway allocates with, as in its image (Dockerfile): jemalloc, which gives back to the system within seconds what is not used any more.
 * glibc keeps the 50 MB that a flood took in pieces, for good (docs/adr/0049). Nothing where jemalloc is not installed: glibc is used then.
 */
export function allocatorEnvironment(): Readonly<Record<string, string>> {
  const library = PLACES.map((place) => `${place}/libjemalloc.so.2`).find((path) => existsSync(path));
  if (process.platform !== 'linux' || library === undefined) return {};
  return { LD_PRELOAD: library, MALLOC_CONF: ALLOCATOR_SETTINGS };
}

/** A thread of its own gives back what nobody used for a second. */
export const ALLOCATOR_SETTINGS = 'background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0';
