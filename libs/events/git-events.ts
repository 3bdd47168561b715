import { ClusterId, GitHostKind, GitHostName, IsoTime } from '@fairlead/contracts';
import { z } from 'zod';
import { event } from './event-shape.js';

const host = { hostId: z.uuid(), name: GitHostName };
/** `SHA256:…`, as ssh-keygen shows it. */
const fingerprint = z.string().max(64);
const fingerprints = z.array(fingerprint).max(64);
const deployKey = {
  hostId: z.uuid(),
  clusterId: ClusterId,
  repositoryId: z.uuid(),
  /** `org/catalog`. */
  path: z.string().max(512),
  number: z.int().min(1),
  fingerprint,
};

/** Of Git hosts, their keys, and the keys of clusters on them. None holds a token. */
export const GIT_EVENTS = {
  /** Made or changed. */
  'dev.fairlead.git-host.configured.v1': event({
    ...host,
    kind: GitHostKind,
    url: z.string().max(1_024).nullable(),
    sshHost: z.string().max(253),
    sshPort: z.int(),
    created: z.boolean(),
    /** Another token was given. */
    tokenChanged: z.boolean(),
    createRepositories: z.boolean(),
  }),
  'dev.fairlead.git-host.deleted.v1': event(host),
  /** It cannot be worked with until somebody does something; `reason` says why. Told once, until it recovers or fails otherwise. */
  'dev.fairlead.git-host.failing.v1': event({ ...host, message: z.string().max(1_024) }),
  'dev.fairlead.git-host.recovered.v1': event(host),
  /** Its token ends soon. Told once for each token. */
  'dev.fairlead.git-host.token-expiring.v1': event({ ...host, expiresAt: IsoTime }),
  /** The host shows a key that nobody approved, while others are. Told once for each key; nothing trusts it. */
  'dev.fairlead.git-host.key-changed.v1': event({ ...host, type: z.string().max(64), fingerprint }),
  /** The set that clusters trust, after an administrator decided, and what that took out. */
  'dev.fairlead.git-host.keys-approved.v1': event({ ...host, approved: fingerprints, withdrawn: fingerprints }),
  'dev.fairlead.deploy-key.added.v1': event({ ...deployKey, keyId: z.string().max(64) }),
  /** It was gone from the host and was put back. */
  'dev.fairlead.deploy-key.restored.v1': event({ ...deployKey, keyId: z.string().max(64), restored: z.int().min(1) }),
  'dev.fairlead.deploy-key.removed.v1': event(deployKey),
  /** The host does not take this key; `reason` says why. */
  'dev.fairlead.deploy-key.refused.v1': event(deployKey),
} as const;
