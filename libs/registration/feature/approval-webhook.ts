import { createHmac } from 'node:crypto';
import { ClusterName, type ApprovalPolicy } from '@fairlead/contracts';
import { messageOf } from '@fairlead/errors';
import { RateLimitedLog, type LogCause } from '@fairlead/limits';
import { z } from 'zod';
import { knownFacts } from '../domain/known-facts.js';
import { clusterNames } from '../store/cluster-store.js';
import type { StoredEnrolmentRequest } from '../store/enrolment-request-store.js';
import type { ApprovalPolicies } from './approval-policies.js';
import type { EnrolmentRequests } from './enrolment-requests.js';
import { read, type Runtime } from './runtime.js';

export interface WebhookOptions {
  /** `https:`, or `http:` to loopback. */
  readonly url: string;
  /** Signs each question, so that the program knows who asks. */
  readonly secret: string;
  /** For one question. Default 5,000: an agent waits meanwhile. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 16_384;
/** Questions that this process waits for, of all tenants. */
const MAX_QUESTIONS = 16;
/** Of these, about agents without a token: who is unauthenticated leaves room for who was invited. */
const MAX_UNAUTHENTICATED = 8;

const Verdict = z.discriminatedUnion('decision', [
  z.object({ decision: z.literal('approve'), cluster: ClusterName.optional() }),
  z.object({ decision: z.literal('reject'), reason: z.string().min(1).max(256).default('the webhook rejected it') }),
]);

/**
 * Asks a program of the operator's about agents that wait, where the policy says so. Fails closed: without a clear answer in
 * time the agent goes on waiting, the program is asked again when the agent asks again, and an administrator can decide.
 */
export class ApprovalWebhook {
  readonly #runtime: Runtime;
  readonly #policies: ApprovalPolicies;
  readonly #requests: EnrolmentRequests;
  readonly #options: WebhookOptions | null;
  /** Requests that the program is asked about at this moment. */
  readonly #asked = new Map<string, { readonly unauthenticated: boolean }>();
  /** Agents that wait ask as often as they like. */
  readonly #lines = { decided: new RateLimitedLog(), failed: new RateLimitedLog() };

  constructor(
    runtime: Runtime,
    policies: ApprovalPolicies,
    requests: EnrolmentRequests,
    options: WebhookOptions | null,
  ) {
    this.#runtime = runtime;
    this.#policies = policies;
    this.#requests = requests;
    this.#options = options;
  }

  /**
   * The request as it is after the program was asked, if it was to be: not while it is asked about the same request, or about
   * too many others. Never throws for what the program does.
   */
  async consult(request: StoredEnrolmentRequest): Promise<StoredEnrolmentRequest> {
    if (request.state !== 'pending' || (await this.#policyOf(request)) !== 'webhook') return request;
    const { id, tenantId, spkiSha256 } = request;
    const { logger, source } = this.#runtime;
    const unauthenticated = request.tokenId === null;
    if (this.#asked.has(id) || !this.#hasRoom(unauthenticated)) return request;
    this.#asked.set(id, { unauthenticated });
    try {
      const verdict = await this.#ask(request);
      if (verdict.decision === 'approve') await this.#requests.approve(source, tenantId, id, verdict.cluster);
      else await this.#requests.reject(source, tenantId, id, verdict.reason);
      const line = this.#lines.decided.next(causeOf(request));
      if (line) logger.info('approval.webhook.decided', { requestId: id, decision: verdict.decision, ...line });
    } catch (error) {
      const line = this.#lines.failed.next(causeOf(request));
      if (line) logger.warn('approval.webhook.failed', { requestId: id, reason: messageOf(error), ...line });
    } finally {
      this.#asked.delete(id);
    }
    // Somebody else may have decided meanwhile: what is stored counts.
    return (await this.#requests.ofKey(spkiSha256)) ?? request;
  }

  #hasRoom(unauthenticated: boolean): boolean {
    const others = [...this.#asked.values()].filter((asked) => asked.unauthenticated).length;
    return this.#asked.size < MAX_QUESTIONS && (!unauthenticated || others < MAX_UNAUTHENTICATED);
  }

  async #policyOf({ tenantId, clusterId }: StoredEnrolmentRequest): Promise<ApprovalPolicy> {
    return read(this.#runtime, (manager) => this.#policies.effectiveOf(manager, tenantId, clusterId));
  }

  async #ask(request: StoredEnrolmentRequest): Promise<z.output<typeof Verdict>> {
    if (!this.#options) throw new Error('FAIRLEAD_APPROVAL_WEBHOOK_URL is not set');
    const { url, secret, timeoutMs = TIMEOUT_MS } = this.#options;
    const body = JSON.stringify(await this.#question(request));
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'fairlead-signature': signatureOf(secret, body, this.#runtime.now()),
      },
      body,
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    });
    const answer = await readBounded(response);
    if (response.status !== 200) throw new Error(`the webhook answered ${response.status}`);
    return Verdict.parse(JSON.parse(answer));
  }

  async #question(request: StoredEnrolmentRequest): Promise<object> {
    const { id, tenantId, clusterId, spkiSha256: fingerprint, facts, remoteAddress, createdAt } = request;
    const ids = clusterId === null ? [] : [clusterId];
    const names = await read(this.#runtime, (manager) => clusterNames(manager, ids));
    const cluster = names.get(clusterId ?? '') ?? null;
    const asked = { requestId: id, tenantId, cluster, fingerprint, facts: knownFacts(facts), remoteAddress };
    return { ...asked, createdAt: createdAt.toISOString() };
  }
}

/** The cluster whose token was shown, or where one without a token is. */
function causeOf({ clusterId, tokenId, remoteAddress }: StoredEnrolmentRequest): LogCause {
  return tokenId === null || clusterId === null ? { address: remoteAddress } : { address: remoteAddress, clusterId };
}

/**
 * `t=<seconds since the epoch>,v1=<HMAC-SHA256, hex>` over `<t>.<body>`: the receiver compares it in constant time, and
 * refuses what is older than some minutes, so that nothing can be replayed.
 */
export function signatureOf(secret: string, body: string, now: Date): string {
  const seconds = Math.floor(now.getTime() / 1_000);
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
}

async function readBounded({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES) throw new Error(`the webhook's answer is larger than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
