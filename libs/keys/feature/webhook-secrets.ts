import { createHash, randomUUID } from 'node:crypto';
import { MAX_SIGNING_SECRETS } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { BoundedMap } from '@fairlead/limits';
import { inTransaction, readFrom } from '@fairlead/persistence';
import type { DataSource, EntityManager } from 'typeorm';
import { sealedContext } from '../domain/sealed-context.js';
import { newWebhookSecret, webhookSignature, type WebhookMessage } from '../domain/webhook-signature.js';
import {
  addWebhookSecret,
  deleteWebhookSecrets,
  endWebhookSecret,
  listWebhookSecrets,
  signingSecrets,
  type StoredWebhookSecret,
} from '../store/webhook-secret-store.js';
import type { CurrentCa } from './current-ca.js';

interface Options {
  readonly database: DataSource;
  readonly ca: Pick<CurrentCa, 'sealer' | 'now'>;
}

const PAGE_ROWS = 500;
/** A KMS would otherwise be asked for each message. */
const MAX_OPEN = 1_000;

/** Secrets of webhooks: each is shown once, when it is made, and signs from then on without leaving this process. */
export class WebhookSecrets {
  readonly #options: Options;
  /** By what is sealed, so that what is not in the database any more is not found here either. */
  readonly #open = new BoundedMap<string, string>({ max: MAX_OPEN, overflow: 'forget-oldest' });

  constructor(options: Options) {
    this.#options = options;
  }

  /** ALREADY_EXISTS. */
  async create(tenantId: string, subscriberId: string): Promise<{ secret: string }> {
    const made = await this.#make();
    return inTransaction(this.#options.database, async (manager) => {
      await this.#add(manager, { tenantId, subscriberId }, made);
      return { secret: made.secret };
    });
  }

  /** The one before, if there is one, signs beside it for so long, and those before that to their own end; with 0 hours, none does. CONFLICT: so many sign already. */
  async rotate(
    tenantId: string,
    subscriberId: string,
    overlapHours: number,
  ): Promise<{ secret: string; previousUntil: string | null }> {
    const made = await this.#make();
    const now = this.#options.ca.now();
    const until = new Date(now.getTime() + overlapHours * 3_600_000);
    return inTransaction(this.#options.database, async (manager) => {
      const owner = { tenantId, subscriberId };
      const ended = await endWebhookSecret(manager, owner, { now, until, most: MAX_SIGNING_SECRETS - 1 });
      if (ended.kind === 'full') throw tooMany(ended.firstEndsAt);
      await this.#add(manager, owner, made);
      return { secret: made.secret, previousUntil: ended.kind === 'ended' ? until.toISOString() : null };
    });
  }

  async destroy(tenantId: string, subscriberId: string): Promise<void> {
    await inTransaction(this.#options.database, (manager) => deleteWebhookSecrets(manager, { tenantId, subscriberId }));
  }

  /** Whose there are, of all tenants. */
  async list(after: string | undefined): Promise<{ tenantId: string; subscriberId: string; createdAt: string }[]> {
    const rows = await readFrom(this.#options.database, (manager) =>
      listWebhookSecrets(manager, after ?? null, PAGE_ROWS),
    );
    return rows.map((row) => ({ ...row, createdAt: row.createdAt.toISOString() }));
  }

  /** By all secrets that sign now. NOT_FOUND: there is none. */
  async sign(tenantId: string, subscriberId: string, message: WebhookMessage): Promise<string> {
    const { database, ca } = this.#options;
    const stored = await readFrom(database, (manager) => signingSecrets(manager, { tenantId, subscriberId }, ca.now()));
    if (stored.length === 0) throw noSecret(subscriberId);
    const secrets = await Promise.all(stored.map((each) => this.#unseal(each)));
    return webhookSignature(secrets, message);
  }

  async #make(): Promise<StoredWebhookSecret & { readonly secret: string }> {
    const [id, secret] = [randomUUID(), newWebhookSecret()];
    return { id, secret, sealed: await this.#options.ca.sealer.seal(secret, sealedContext.webhookSecret(id)) };
  }

  async #add(
    manager: EntityManager,
    owner: { readonly tenantId: string; readonly subscriberId: string },
    made: StoredWebhookSecret,
  ): Promise<void> {
    if (await addWebhookSecret(manager, owner, made, this.#options.ca.now())) return;
    throw new FairleadError('ALREADY_EXISTS', `the subscriber ${owner.subscriberId} has a secret already`);
  }

  async #unseal({ id, sealed }: StoredWebhookSecret): Promise<string> {
    const key = createHash('sha256').update(id).update(sealed).digest('base64');
    const known = this.#open.get(key);
    if (known !== undefined) return known;
    const secret = await this.#options.ca.sealer.unseal(sealed, sealedContext.webhookSecret(id));
    this.#open.set(key, secret);
    return secret;
  }
}

function noSecret(subscriberId: string): FairleadError {
  return new FairleadError('NOT_FOUND', `the subscriber ${subscriberId} has no secret`);
}

function tooMany(firstEndsAt: Date): FairleadError {
  const what = `${MAX_SIGNING_SECRETS} secrets of this webhook sign already, the first of them until ${firstEndsAt.toISOString()}`;
  return new FairleadError(
    'CONFLICT',
    `${what}: rotate it then, or without an overlap, so that the new one signs alone`,
  );
}
