import { IsoTime } from '@fairlead/contracts';
import { z } from 'zod';
import { event } from './event-shape.js';

const issuer = z.string().max(63);
const who = {
  issuer: issuer.nullable(),
  /** Null: nobody has proved to be anybody. */
  user: z.string().max(256).nullable(),
  kind: z.enum(['login', 'workload']).nullable(),
};

/** Issuers, and logins by their tokens. None says what was in a token but the name that we give its owner. */
export const LOGIN_EVENTS = {
  /** `ended`: logins that the change ended. */
  'dev.fairlead.issuer.changed.v1': event({
    issuer,
    kind: z.enum(['oidc', 'workload']),
    url: z.string().max(512),
    ended: z.int().min(0),
  }),
  'dev.fairlead.issuer.removed.v1': event({ issuer, ended: z.int().min(0) }),
  'dev.fairlead.login.succeeded.v1': event({ ...who, loginId: z.uuid(), renewed: z.boolean(), expiresAt: IsoTime }),
  /** `suppressed`: refusals of the same user, or of the unauthenticated, that were not told, because there were too many. */
  'dev.fairlead.login.refused.v1': event({
    ...who,
    why: z.string().max(512),
    suppressed: z.int().min(0).default(0),
  }),
  /** Somebody logged out, with all tokens of that session. */
  'dev.fairlead.login.ended.v1': event({ issuer, user: z.string().max(256) }),
} as const;
