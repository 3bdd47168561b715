import { z } from 'zod';
import { BundleLimits } from './bundle-limits.js';

/** Of the document as JSON: signed and in base64 it has to fit into one value of a bucket, 64 KiB. */
export const MAX_DESIRED_STATE_BYTES = 36_000;

export const Tool = z.enum(['flux', 'argocd']);
export type Tool = z.infer<typeof Tool>;

/**
 * `enforce`: whatever differs is put right. `observe`: it is told and left. `off`: nothing is looked at after the installation; a new
 * bundle or source is still applied.
 */
export const SelfHeal = z.enum(['enforce', 'observe', 'off']);
export type SelfHeal = z.infer<typeof SelfHeal>;

/** Which install manifest; its bytes travel apart, and count only if they hash to this. */
export const BundleReference = z.object({
  /** SHA-256 of the YAML, hex. */
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  /** As its importer calls it: `v2.7.3`. */
  version: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}$/),
  bytes: z.int().min(1).max(BundleLimits.maxBytes),
  compressedBytes: z.int().min(1).max(BundleLimits.maxCompressedBytes),
});
export type BundleReference = z.infer<typeof BundleReference>;

const imageName = z.string().regex(/^[a-z0-9][a-zA-Z0-9._:/-]{0,254}$/, 'expected a registry, with or without a path');

/** For clusters that cannot pull from the internet. */
export const ImageRules = z.object({
  /** The longest prefix that matches, up to a `/`, is replaced: `ghcr.io/fluxcd` → `registry.corp/flux`. */
  rewrite: z
    .array(z.object({ from: imageName, to: imageName }))
    .max(16)
    .default([]),
  /** Of a Secret that somebody keeps in the tool's namespace; named in each of its service accounts. */
  pullSecret: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/)
    .nullable()
    .default(null),
});
export type ImageRules = z.infer<typeof ImageRules>;

/** A commit counts only if it is signed by one of these. */
export const CommitVerification = z.object({
  /** Armoured OpenPGP keys, or SSH keys as `authorized_keys` has them. */
  keys: z
    .array(
      z.object({
        name: z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/),
        publicKey: z.string().min(32).max(16_384),
      }),
    )
    .min(1)
    .max(16),
  type: z.enum(['gpg', 'ssh']),
});
export type CommitVerification = z.infer<typeof CommitVerification>;

/**
 * One host key, as a line of `known_hosts` has it: the host as it is dialled (`git.example.com`, or `[git.example.com]:2222` for
 * another port than 22), the key's type and the key. No patterns, hashes, markers or comments: sshd(8), SSH_KNOWN_HOSTS FILE FORMAT.
 */
export const KnownHost = z.object({
  host: z.string().regex(/^([a-zA-Z0-9][a-zA-Z0-9.-]{0,252}|\[[a-zA-Z0-9:][a-zA-Z0-9.:-]{0,252}\]:[1-9]\d{0,4})$/),
  type: z.enum(['ssh-ed25519', 'ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521', 'ssh-rsa']),
  key: z.base64().min(32).max(2_048),
});
export type KnownHost = z.infer<typeof KnownHost>;

/** The text of a `known_hosts` file, one line each. */
export function formatKnownHosts(hosts: readonly KnownHost[]): string {
  return hosts.map(({ host, type, key }) => `${host} ${type} ${key}\n`).join('');
}

/** The catalog repository of a cluster, as its tool fetches it. */
export const CatalogSource = z.object({
  /** `ssh://user@host[:port]/path`, nothing else: a password, a query or an option of ssh has no place in it. */
  url: z
    .string()
    .max(1_024)
    .regex(/^ssh:\/\/[a-zA-Z0-9_-]{1,32}@[a-zA-Z0-9.:[\]-]{1,262}\/[A-Za-z0-9][A-Za-z0-9._~/-]{0,700}$/),
  branch: z.string().regex(/^(?![-/.])(?!.*(\.\.|\/\/|@\{|\.lock(\/|$)))[A-Za-z0-9._/-]{1,200}(?<![/.])$/),
  /** Below the repository's root; `.`: all of it. */
  path: z.string().regex(/^(?!.*(^|\/)\.\.(\/|$))[A-Za-z0-9._][A-Za-z0-9._/-]{0,255}$/),
  knownHosts: z.array(KnownHost).min(1).max(32),
  intervalSeconds: z.int().min(5).max(86_400).default(60),
  /** Are objects that vanish from the repository deleted from the cluster? */
  prune: z.boolean().default(true),
  verification: CommitVerification.nullable().default(null),
});
export type CatalogSource = z.infer<typeof CatalogSource>;

/**
 * Which of the cluster's SSH keys is used. The cluster makes them, by number from 1. In a rotation `next` is made, added to the Git
 * host, tried by the cluster, and then becomes `current`; the old one is deleted in the cluster when it is neither.
 */
const DeployKeyNumbers = z.object({
  current: z.int().min(1).max(1_000_000),
  next: z.int().min(1).max(1_000_000).nullable().default(null),
  /** The Git host has it: until then a source is not applied, and `next` not tried. */
  currentReady: z.boolean(),
  nextReady: z.boolean().default(false),
});

export const GitOpsSpec = z.object({
  tool: Tool,
  bundle: BundleReference,
  images: ImageRules,
  /** Null: install the tool, follow nothing yet. */
  source: CatalogSource.nullable(),
  deployKey: DeployKeyNumbers,
  /** Freezes the following of the repository, not the repair of the tool. */
  suspend: z.boolean().default(false),
  selfHeal: SelfHeal.default('enforce'),
  /** The tool's own recommendations for clusters with several tenants: no reference across namespaces, no remote bases. */
  lockdown: z.boolean().default(true),
  /** Of the fleet: repairs that change nothing are enough while it is open (see the breaker). */
  holdRepairs: z.boolean().default(false),
});
export type GitOpsSpec = z.infer<typeof GitOpsSpec>;

/** All that a cluster's installer acts on. Only one that the keys service signed counts, and never an older revision than it held. */
export const DesiredState = z.object({
  version: z.literal(1),
  tenantId: z.string().min(1).max(63),
  clusterId: z.uuid(),
  /** Goes up by at least one with each change. */
  revision: z
    .int()
    .min(1)
    .max(2 ** 48),
  issuedAt: z.iso.datetime(),
  /** Null: nothing of ours is desired. What `remove` says happens to what there is. */
  gitops: GitOpsSpec.nullable(),
  /**
   * With `gitops` null. `keep`: it is left as it is, unowned. `tool`: the tool and our source go, what it deployed stays.
   * `everything`: what it deployed goes first.
   */
  remove: z.enum(['keep', 'tool', 'everything']).default('keep'),
});
export type DesiredState = z.infer<typeof DesiredState>;
