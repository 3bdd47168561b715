/** How serious an error is for the one who runs Fairlead, not for the one who caused it. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** One row of the error table: everything an edge needs to answer without looking at message text. */
export interface ErrorKind {
  /** HTTP status of the admin API and of the Kubernetes API door. */
  readonly http: number;
  /** gRPC status code (https://grpc.io/docs/guides/status-codes/). */
  readonly grpc: number;
  /** May the same request be sent again unchanged? True only where it was provably not carried out. */
  readonly retryable: boolean;
  readonly logLevel: LogLevel;
  /** Shown where the detailed message must not be. */
  readonly safeMessage: string;
}

const row = (http: number, grpc: number, retryable: boolean, logLevel: LogLevel, safeMessage: string): ErrorKind => ({
  http,
  grpc,
  retryable,
  logLevel,
  safeMessage,
});

/** The one table of error codes. A code is part of the public contract: never reuse one for another meaning. */
export const ERROR_KINDS = {
  INVALID_ARGUMENT: row(400, 3, false, 'info', 'the request is not valid'),
  UNAUTHENTICATED: row(401, 16, false, 'info', 'no valid credentials were presented'),
  FORBIDDEN: row(403, 7, false, 'warn', 'this identity may not do that'),
  NOT_FOUND: row(404, 5, false, 'info', 'there is no such thing, or it is not yours to see'),
  ALREADY_EXISTS: row(409, 6, false, 'info', 'it exists already'),
  CONFLICT: row(409, 9, false, 'info', 'the state changed in the meantime'),
  REVISION_CONFLICT: row(412, 9, false, 'info', 'it is no longer what the request says it was'),
  GONE: row(410, 9, false, 'info', 'it is no longer available'),
  TOO_LARGE: row(413, 8, false, 'info', 'the request is larger than allowed'),
  UNSUPPORTED_MEDIA_TYPE: row(415, 3, false, 'info', 'the request is in an encoding that is not read here'),
  MISDIRECTED: row(421, 9, false, 'info', 'the connection was opened for another host name'),
  QUOTA_EXCEEDED: row(403, 8, false, 'info', 'as much is there as there may be'),
  RATE_LIMITED: row(429, 8, true, 'info', 'too many requests; wait and try again'),
  INTERNAL: row(500, 13, false, 'error', 'something went wrong inside; the log has the cause'),
  UNAVAILABLE: row(503, 14, true, 'warn', 'a part that is needed is away; try again'),
  DEADLINE_EXCEEDED: row(504, 4, false, 'warn', 'it took too long'),
  // Enrolment and identity.
  TOKEN_MALFORMED: row(400, 3, false, 'info', 'the bootstrap token is not one of ours'),
  TOKEN_UNKNOWN: row(401, 16, false, 'warn', 'the bootstrap token is not known'),
  TOKEN_EXPIRED: row(401, 16, false, 'info', 'the bootstrap token has expired'),
  TOKEN_USED: row(401, 16, false, 'warn', 'the bootstrap token was used by another key'),
  TOKEN_REVOKED: row(401, 16, false, 'warn', 'the bootstrap token was revoked'),
  ENROLMENT_PENDING: row(503, 14, true, 'info', 'an administrator has not decided about this enrolment yet'),
  ENROLMENT_REJECTED: row(403, 7, false, 'warn', 'an administrator, or the policy, rejected this enrolment'),
  CSR_INVALID: row(400, 3, false, 'warn', 'the certificate request is not acceptable'),
  CERTIFICATE_REFUSED: row(403, 7, false, 'warn', 'the certificate is not acceptable here'),
  CERTIFICATE_REVOKED: row(403, 7, false, 'warn', 'the certificate was revoked'),
  VERSION_UNSUPPORTED: row(426, 9, false, 'error', 'the two ends have no version of the protocol in common'),
  UNTRUSTED_PEER: row(502, 14, false, 'error', 'the peer could not prove who it is'),
  // Git hosts.
  GIT_TOKEN_REFUSED: row(502, 9, false, 'error', 'the Git host does not accept our token: it expired or was revoked'),
  GIT_RIGHTS_MISSING: row(502, 9, false, 'error', 'our token lacks a right that is needed on the Git host'),
  GIT_KEY_IN_USE: row(409, 6, false, 'warn', 'the deploy key is in use elsewhere on the Git host'),
  // Tunnels.
  NO_SESSION: row(503, 14, true, 'info', 'no agent of this cluster is connected here'),
  AGENT_OFFLINE: row(503, 14, false, 'info', "the cluster's agent is not connected"),
  AGENT_RECONNECTING: row(503, 14, true, 'info', "the cluster's agent was connected a moment ago"),
  AGENT_OVERLOADED: row(503, 8, true, 'warn', "the cluster's agent has no free tunnel"),
  TARGET_REFUSED: row(403, 7, false, 'warn', "the agent's policy refuses this target"),
  TARGET_UNREACHABLE: row(502, 14, false, 'info', 'the target could not be reached from the cluster'),
  IDENTITY_REFUSED: row(403, 7, false, 'warn', 'the agent refuses this identity'),
  SESSION_ENDED: row(403, 7, false, 'info', 'an administrator has ended this'),
  STATEMENT_REFUSED: row(403, 7, false, 'warn', 'the access statement is not acceptable here'),
  // Clients that have a credential plugin ask it anew after a 401.
  STATEMENT_EXPIRED: row(401, 16, false, 'info', 'the access statement has ended'),
  STATEMENT_STALE: row(401, 16, false, 'info', 'more is granted now than the access statement says'),
  STATEMENT_REVOKED: row(401, 16, false, 'info', 'the access statement was revoked'),
  STATEMENT_REQUIRED: row(401, 16, false, 'info', 'this cluster takes only who shows an access statement'),
  WRONG_CLUSTER: row(403, 7, false, 'error', 'the request was meant for another cluster'),
  TUNNEL_RESET: row(502, 14, false, 'info', 'the tunnel broke off'),
  PROTOCOL_ERROR: row(502, 13, false, 'error', 'the peer broke the protocol'),
  // Under `FAIRLEAD_AUDIT=required`; whatever it was, it was not let go on.
  AUDIT_UNAVAILABLE: row(503, 14, true, 'error', 'what may change something cannot be put on record now; try again'),
  DRAINING: row(503, 14, true, 'info', 'this replica is shutting down'),
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERROR_KINDS;

/** Is this text one of our codes? Codes arrive over the wire, from peers of other versions. */
export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(ERROR_KINDS, value);
}
