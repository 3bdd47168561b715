import {
  MAX_SUBSCRIBERS,
  expectRevision,
  pageOf,
  revisionOf,
  type Caller,
  type CreatedSubscriber,
  type Expecting,
  type NewSubscriber,
  type ReplayFrom,
  type Subscriber,
} from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { EVENTS, commit, read, tell, type ServiceRuntime } from '@fairlead/events';
import type { EntityManager } from 'typeorm';
import { checkEventPatterns, leastPatterns } from '../domain/event-patterns.js';
import { natsSubscription } from './nats-subscription.js';
import { aboutSubscriber, type Asked } from './subscriber-event.js';
import {
  addSubscriber,
  changeNatsKey,
  changeStart,
  deleteSubscriber,
  findSubscriber,
  holdSubscribers,
  listSubscribers,
  type StoredSubscriber,
} from '../store/subscribers.js';
import { webhookStates, type WebhookState } from '../store/webhooks.js';
import { webhookView } from './webhooks/webhook-view.js';
import type { Webhooks } from './webhooks/webhooks.js';

const PAGE_ROWS = 200;

/** Who outside is told of a tenant's events. */
export class Subscribers {
  constructor(
    private readonly runtime: ServiceRuntime,
    private readonly consumers: ConsumersOfSubscribers,
    private readonly webhooks: Webhooks,
  ) {}

  /** ALREADY_EXISTS, QUOTA_EXCEEDED; INVALID_ARGUMENT: no event is meant. */
  async create(caller: Caller, tenantId: string, by: string, asked: NewSubscriber): Promise<CreatedSubscriber> {
    checkEventPatterns(asked.types, Object.keys(EVENTS));
    this.webhooks.check(asked.url);
    const begun: StoredSubscriber[] = [];
    const adding = commit(this.runtime, async (manager) => {
      const had = await holdSubscribers(manager, tenantId);
      if (had >= MAX_SUBSCRIBERS) throw new FairleadError('QUOTA_EXCEEDED', TOO_MANY);
      const types = leastPatterns(asked.types);
      const added = await addSubscriber(manager, tenantId, { ...asked, types }, this.runtime.now());
      begun.push(added);
      const secret = await this.webhooks.begin(manager, added, asked.url);
      const event = { ...aboutSubscriber({ caller, by }, added), types };
      await tell(this.runtime, manager, 'dev.fairlead.subscriber.created.v1', event);
      return { ...(await shownIn(manager, added)), secret };
    });
    const made = await adding.catch(async (error: unknown) => {
      for (const each of begun) await this.webhooks.undo(each);
      throw error;
    });
    if (made.kind === 'nats') await this.#follow(made.id);
    return made;
  }

  /** By name, as many as fit in an answer; `next` is the name to go on after. */
  async list(tenantId: string, after = ''): Promise<{ subscribers: Subscriber[]; next?: string }> {
    const { rows, states } = await read(this.runtime, async (manager) => {
      const found = await listSubscribers(manager, tenantId, after, PAGE_ROWS);
      return { rows: found, states: await statesOf(manager, found) };
    });
    const all = rows.map((each) => shown(each, states.get(each.id)));
    const { items: subscribers, ...next } = pageOf(all, PAGE_ROWS, ({ name }) => name);
    return { subscribers, ...next };
  }

  /** NOT_FOUND. */
  async get(tenantId: string, name: string): Promise<Subscriber> {
    return read(this.runtime, async (manager) => shownIn(manager, await findSubscriber(manager, tenantId, name)));
  }

  /** NOT_FOUND, REVISION_CONFLICT. */
  async remove(asked: Asked, { ifRevision }: Expecting): Promise<void> {
    const { tenantId, name } = asked;
    const removed = await commit(this.runtime, async (manager) => {
      const known = await findSubscriber(manager, tenantId, name, 'lock');
      expectRevision(`the subscriber ${name}`, shown(known).revision, ifRevision);
      await deleteSubscriber(manager, known.id);
      await tell(this.runtime, manager, 'dev.fairlead.subscriber.removed.v1', aboutSubscriber(asked, known));
      return known;
    });
    if (removed.kind === 'nats') await this.#follow(removed.id);
    // What cannot be destroyed now is swept.
    else await this.webhooks.undo(removed);
  }

  /** Where it stands is kept. NOT_FOUND, ALREADY_EXISTS, REVISION_CONFLICT; CONFLICT: it has no key. */
  async rotate(asked: Asked, publicKey: string, { ifRevision }: Expecting): Promise<Subscriber> {
    const { tenantId, name } = asked;
    return commit(this.runtime, async (manager) => {
      const known = await findNats(manager, tenantId, name);
      expectRevision(`the subscriber ${name}`, shown(known).revision, ifRevision);
      const rotated = await changeNatsKey(manager, known.id, publicKey);
      await tell(this.runtime, manager, 'dev.fairlead.subscriber.rotated.v1', aboutSubscriber(asked, rotated));
      return shown(rotated);
    });
  }

  /** NOT_FOUND; of a webhook what `Webhooks.replay` throws. UNAVAILABLE: it may have happened already; ask again. */
  async replay(asked: Asked, from: ReplayFrom): Promise<Subscriber> {
    const { tenantId, name } = asked;
    const { kind } = await read(this.runtime, (manager) => findSubscriber(manager, tenantId, name));
    if (kind === 'webhook') {
      await this.webhooks.replay(asked, from);
      return this.get(tenantId, name);
    }
    const replayed = await commit(this.runtime, async (manager) => {
      const known = await findNats(manager, tenantId, name);
      const row = await changeStart(manager, known.id, from);
      const [fromTime, fromNumber] = 'time' in from ? [from.time, null] : [null, from.number];
      const event = { ...aboutSubscriber(asked, row), fromTime, fromNumber };
      await tell(this.runtime, manager, 'dev.fairlead.subscriber.replayed.v1', event);
      return row;
    });
    await this.consumers.beginAnew(replayed.id);
    return shown(replayed);
  }

  /** What cannot be done now is done later by itself: a consumer begins when its subscriber was made, so it misses nothing. */
  async #follow(subscriberId: string): Promise<void> {
    try {
      await this.consumers.follow(subscriberId);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      this.runtime.logger.warn('subscriber.consumer_delayed', { subscriberId, reason: error.message });
    }
  }
}

/** What the consumers of subscribers are kept by. */
export interface ConsumersOfSubscribers {
  /** Whether it is there or gone, its consumer is so too. UNAVAILABLE: later, by itself. */
  follow(subscriberId: string): Promise<void>;
  /** Its consumer begins where the subscriber does now. UNAVAILABLE. */
  beginAnew(subscriberId: string): Promise<void>;
}

async function findNats(manager: EntityManager, tenantId: string, name: string): Promise<StoredSubscriber> {
  const known = await findSubscriber(manager, tenantId, name, 'lock');
  if (known.natsPublicKey !== null) return known;
  throw new FairleadError('CONFLICT', `the subscriber ${name} is a ${known.kind}, and not one that fetches over NATS`);
}

function isUnavailable(error: unknown): error is FairleadError {
  return error instanceof FairleadError && error.code === 'UNAVAILABLE';
}

const TOO_MANY = `a tenant has at most ${MAX_SUBSCRIBERS} subscribers; remove one first`;

function statesOf(manager: EntityManager, rows: readonly StoredSubscriber[]): Promise<Map<string, WebhookState>> {
  return webhookStates(
    manager,
    rows.filter(({ kind }) => kind === 'webhook').map(({ id }) => id),
  );
}

async function shownIn(manager: EntityManager, one: StoredSubscriber): Promise<Subscriber> {
  return shown(one, (await statesOf(manager, [one])).get(one.id));
}

/** `state` is no part of the revision: it changes by itself. */
function shown(
  { id, name, kind, types, createdAt, natsPublicKey }: StoredSubscriber,
  state?: WebhookState,
): Subscriber {
  const nats = natsPublicKey === null ? null : natsSubscription(id, natsPublicKey);
  const said = { id, name, kind, types: [...types], createdAt: createdAt.toISOString(), nats };
  return { ...said, webhook: state ? webhookView(state) : null, revision: revisionOf(said) };
}
