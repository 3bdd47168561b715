/** Of a bundle: the upstream install manifest of a GitOps tool, YAML, as it is stored and carried (gzip). */
export const BundleLimits = {
  /** Of the YAML. Argo CD's is about 2 MB, Flux's about 0.6. */
  maxBytes: 16 * 1_048_576,
  /** Compressed, so that it fits into one ConfigMap beside what Kubernetes adds (1 MiB for an object). */
  maxCompressedBytes: 700 * 1_024,
  /** Of one piece on its way from `gitops` to an agent, before base64. */
  chunkBytes: 131_072,
  maxObjects: 2_000,
} as const;
