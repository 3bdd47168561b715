/**
 * How Node runs our services, as in the images (Dockerfile). The second flag counts buffers as part of the whole heap's
 * limit; without it V8 collects the whole heap for every 20 to 30 MB that pass through, which is half the CPU time of a
 * busy tunnel. The third lets go of buffers that have passed early, by many small collections, and the fourth puts off
 * full ones until 128 MB are there (docs/benchmarks.md).
 */
export const NODE_FLAGS = [
  '--enable-source-maps',
  '--external-memory-accounted-in-global-limit',
  '--max-semi-space-size=1',
  '--initial-heap-size=128',
] as const;

/**
 * How Node runs the agent, as in its image. The second flag of the services it sets itself once it is linked, and it does
 * without the fourth: either makes V8 refuse the compiled code that Node brings along, 60 ms at each start (docs/adr/0019).
 */
export const AGENT_FLAGS = ['--enable-source-maps', '--max-semi-space-size=1'] as const;
