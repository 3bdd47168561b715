import { z } from 'zod';

/** Of a report as JSON. */
export const MAX_REPORT_BYTES = 32_768;
/** Room for each object of a bundle that is put back at once: between two reports none of them is lost. */
export const MAX_REPORT_EVENTS = 160;

/**
 * `off`: nothing is desired. `waiting`: for desired state, a bundle or a deploy key. `installing`: for the first time, or another
 * bundle. `healthy`: the tool works (all three layers). `repairing`: something differs and is being put right. `degraded`: repairs
 * did not help so far, or are not desired (`observe`). `escalated`: its repair budget is spent, somebody has to look. `removing`.
 */
export const Phase = z.enum([
  'off',
  'waiting',
  'installing',
  'healthy',
  'repairing',
  'degraded',
  'escalated',
  'removing',
]);
export type Phase = z.infer<typeof Phase>;

const text = z.string().max(1_024);
const code = z.string().regex(/^[A-Z][A-Z0-9_]{0,63}$/);

/** Why something is not as it should be: a code that the fleet is compared by, and a sentence for people. */
export const Problem = z.object({ code, message: text, since: z.iso.datetime() });
export type Problem = z.infer<typeof Problem>;

/** Does the tool follow its repository? */
export const SourceState = z.object({
  ready: z.boolean().nullable(),
  /** Of the tool's own condition. */
  reason: z.string().max(128),
  message: text,
  /** `branch@sha1:…`, as the tool says. */
  revision: z.string().max(256),
  at: z.iso.datetime(),
});
export type SourceState = z.infer<typeof SourceState>;

/** One step of a repair, for the history. */
export const ObjectEvent = z.object({
  /** Counts up in one installer, so that nobody tells one twice. */
  sequence: z.int().min(1),
  at: z.iso.datetime(),
  step: z.enum([
    'observed',
    'applied',
    'restarted',
    'recreated',
    'rolled-back',
    'escalated',
    'healthy',
    'removed',
    'refused',
    'installed',
  ]),
  /** `Deployment flux-system/source-controller`; empty: the tool as a whole. */
  object: z.string().max(256),
  message: text,
});
export type ObjectEvent = z.infer<typeof ObjectEvent>;

/** The public half of a key that the cluster made; `ssh-ed25519 AAAA…` without a comment. RFC 8709: the algorithm's name, and 32 bytes. */
export const PublicKey = z.object({
  number: z.int().min(1).max(1_000_000),
  publicKey: z.string().regex(/^ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[A-P][A-Za-z0-9+/]{42}$/),
  /** Did the tool fetch with it, since it is in the cluster? Null: not tried yet. */
  works: z.boolean().nullable(),
});
export type PublicKey = z.infer<typeof PublicKey>;

/** Of hosts in a preflight. */
export const MAX_PREFLIGHT_HOSTS = 16;

/** One host that a spec needs, as the installer's pod reaches it: nodes may have other ways, such as a mirror or a proxy. */
export const HostReach = z.object({
  kind: z.enum(['registry', 'git']),
  /** As it is dialled, with a port unless that is 443. */
  host: z.string().regex(/^[A-Za-z0-9.:[\]-]{1,262}$/),
  /** `REACHABLE`, `NOT_TRIED`, or why not (libs/installer/README.md). */
  code,
  message: z.string().max(256),
});
export type HostReach = z.infer<typeof HostReach>;

/** The last look at the hosts that a spec needs. A warning, never a reason not to install. */
export const PreflightReport = z.object({
  at: z.iso.datetime(),
  hosts: z.array(HostReach).max(MAX_PREFLIGHT_HOSTS),
});
export type PreflightReport = z.infer<typeof PreflightReport>;

/** What an installer says of its cluster. It comes through an agent: everything in it is a claim of that cluster about itself. */
export const InstallerReport = z.object({
  version: z.literal(1),
  clusterId: z.uuid(),
  installerVersion: z.string().max(64),
  /** Boot id: `sequence` counts within it. */
  installerInstance: z.uuid(),
  /** Newest desired state that it verified; 0: none. */
  observedRevision: z
    .int()
    .min(0)
    .max(2 ** 48),
  /** The one that the cluster was last brought to as a whole; 0: none. */
  appliedRevision: z
    .int()
    .min(0)
    .max(2 ** 48),
  /** SHA-256 of the bundle that it runs; null: none. */
  bundleDigest: z.string().length(64).nullable(),
  /** It cannot go on before the agent brings this one. */
  wantedBundle: z.string().length(64).nullable(),
  phase: Phase,
  problem: Problem.nullable(),
  publicKeys: z.array(PublicKey).max(4),
  source: SourceState.nullable(),
  sync: SourceState.nullable(),
  /** When the tool last answered a reconcile request. */
  functionalAt: z.iso.datetime().nullable(),
  /** Absent: nothing was looked at yet, or by an installer that does not. */
  preflight: PreflightReport.optional(),
  events: z.array(ObjectEvent).max(MAX_REPORT_EVENTS),
});
export type InstallerReport = z.infer<typeof InstallerReport>;
