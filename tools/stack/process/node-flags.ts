/**
 * How Node runs our processes, as in the images (Dockerfile). The second flag counts buffers as part of the whole heap's
 * limit; without it V8 collects the whole heap for every 20 to 30 MB that pass through, which is half the CPU time of a
 * busy tunnel. The third lets go of buffers that have passed early, by many small collections, and the fourth puts off
 * full ones until 128 MB are there (docs/benchmarks.md).
 */
export const NODE_FLAGS = [
  '--enable-source-maps',
  '--external-memory-accounted-in-global-limit',
  '--max-semi-space-size=4',
  '--initial-heap-size=128',
] as const;

/**
 * What our processes are told beside it, as in the images. For copies of more than 2 KB glibc takes an instruction (`rep movsb`) that is six times slower on AMD's
 * Zen 3 and 4 where the target lies a little further within its page than the source within its own, as where TLS copies a record. So it does not (docs/adr/0085).
 */
export const NODE_ENVIRONMENT = { GLIBC_TUNABLES: 'glibc.cpu.x86_rep_movsb_threshold=1073741824' } as const;
