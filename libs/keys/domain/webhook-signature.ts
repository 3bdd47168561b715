import { createHmac, randomBytes } from 'node:crypto';

/** `whsec_` and its bytes in base64; 24 to 64 bytes are allowed. Source: Standard Webhooks 1.0, "Signature scheme". */
const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

export function newWebhookSecret(): string {
  return `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;
}

export interface WebhookMessage {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly timestamp: number;
  readonly payload: string;
}

/** The header `webhook-signature`: `v1,<HMAC-SHA256 over id.timestamp.payload, base64>` for each secret, with spaces between. */
export function webhookSignature(secrets: readonly string[], { id, timestamp, payload }: WebhookMessage): string {
  const signed = `${id}.${timestamp}.${payload}`;
  return secrets
    .map((secret) => createHmac('sha256', Buffer.from(secret.slice(PREFIX.length), 'base64')).update(signed))
    .map((hmac) => `v1,${hmac.digest('base64')}`)
    .join(' ');
}
