import { z } from 'zod';

/**
 * What agent and installer hand each other, in the agent's namespace. The import manifest makes the first two ConfigMaps, empty: the
 * agent may change them and make no others. The third is the installer's, and the agent may read it.
 */
export const HANDOVER = {
  /** Written by the agent: key `handover`, JSON of `Handover`. */
  desiredState: 'fairlead-desired-state',
  /** Written by the agent: binary key `bundle.yaml.gz`, the bundle that the installer last asked for. */
  bundle: 'fairlead-bundle',
  /** Written by the installer: key `report`, JSON of `InstallerReport`. */
  report: 'fairlead-installer-report',
  keys: { handover: 'handover', bundle: 'bundle.yaml.gz', report: 'report' },
} as const;

const pem = z.string().max(16_384).startsWith('-----BEGIN ');

const Signed = z.object({
  /** Base64 of what was signed. */
  document: z.base64().max(48_000),
  signerChain: z.array(pem).min(1).max(4),
  signature: z.base64().max(1_024),
});

/** What the agent hands over, as it came from the control plane. The installer verifies all of it by the pins that it was installed with. */
export const Handover = z.object({
  /** The trust bundle that goes with it (`SignedTrust` of @fairlead/pki), by which an installer follows a rotation of the root. */
  trust: Signed.nullable(),
  /** Root certificates as the agent holds them: they count if their key is pinned, or the trust bundle has them. */
  roots: z.array(pem).max(4),
  desiredState: Signed.nullable(),
});
export type Handover = z.infer<typeof Handover>;
