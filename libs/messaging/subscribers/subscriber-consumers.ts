import { FairleadError, messageOf } from '@fairlead/errors';
import type { NatsConnection } from '@nats-io/transport-node';
import { nanos } from '@nats-io/transport-node';
import { z } from 'zod';
import { STREAMS_API } from '../kv/bucket-feed.js';
import { EVENT_STREAM } from '../server/provision-jetstream.js';
import { subscriberConsumer, subscriberOfConsumer } from './subscriber-rights.js';

const API_TIMEOUT_MS = 5_000;
/** What is not acknowledged by then is handed out again. */
const ACK_WAIT_MS = 30_000;
/** Handed out and not acknowledged, at most. */
const MAX_UNACKNOWLEDGED = 1_000;
/** nats-server forgets after two minutes where the answers to a request of another account go. */
const MAX_WAIT_MS = 60_000;
const MAX_BATCH = 500;
/** Requests for messages that wait at once. */
const MAX_WAITING = 32;
/** In all: pages of 1,024 names. */
const MAX_PAGES = 1_000;

/** Where a consumer begins: with what is told from now on, at a moment, or with a number of the stream. */
export type StartsAt = { readonly now: true } | { readonly time: Date } | { readonly number: number };

export interface ConsumerSpec {
  readonly subscriberId: string;
  /** Subjects of the stream, none of which overlaps another one. */
  readonly subjects: readonly string[];
  readonly startsAt: StartsAt;
}

const ApiError = z.object({ error: z.object({ err_code: z.int().optional(), description: z.string().max(512) }) });
const Names = z.object({ consumers: z.array(z.string().max(256)).nullable(), total: z.int(), limit: z.int() });
const CONSUMER_NOT_FOUND = 10_014;

/** The durable consumers of subscribers, as the audit service makes and removes them. */
export class SubscriberConsumers {
  constructor(private readonly nats: NatsConnection) {}

  /** Makes it; one that is there already stays where it is. UNAVAILABLE. */
  async ensure({ subscriberId, subjects, startsAt }: ConsumerSpec): Promise<void> {
    const name = subscriberConsumer(subscriberId);
    const config = {
      name,
      durable_name: name,
      filter_subjects: subjects,
      ack_policy: 'explicit',
      ack_wait: nanos(ACK_WAIT_MS),
      max_ack_pending: MAX_UNACKNOWLEDGED,
      max_deliver: -1,
      max_waiting: MAX_WAITING,
      max_batch: MAX_BATCH,
      max_expires: nanos(MAX_WAIT_MS),
      replay_policy: 'instant',
      ...startOf(startsAt),
    };
    await this.#ask(`CREATE.${EVENT_STREAM}.${name}`, { stream_name: EVENT_STREAM, config, action: '' });
  }

  /** One that is not there is removed. UNAVAILABLE. */
  async remove(subscriberId: string): Promise<void> {
    await this.#ask(`DELETE.${EVENT_STREAM}.${subscriberConsumer(subscriberId)}`, undefined, CONSUMER_NOT_FOUND);
  }

  /** Ids of the subscribers that have one. UNAVAILABLE. */
  async list(): Promise<Set<string>> {
    const ids = new Set<string>();
    let offset = 0;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const { consumers, total } = Names.parse(await this.#ask(`NAMES.${EVENT_STREAM}`, { offset }));
      for (const name of consumers ?? []) {
        const id = subscriberOfConsumer(name);
        if (id !== null) ids.add(id);
      }
      offset += consumers?.length ?? 0;
      if (!consumers?.length || offset >= total) break;
    }
    return ids;
  }

  async #ask(request: string, body?: object, expectedError?: number): Promise<unknown> {
    const subject = `${STREAMS_API}.CONSUMER.${request}`;
    const sent = body === undefined ? '' : JSON.stringify(body);
    const answer = await this.nats.request(subject, sent, { timeout: API_TIMEOUT_MS }).catch((cause: unknown) => {
      throw new FairleadError('UNAVAILABLE', `JetStream does not answer: ${messageOf(cause)}`, { cause });
    });
    const said = answer.json<unknown>();
    const failed = ApiError.safeParse(said);
    if (!failed.success || failed.data.error.err_code === expectedError) return said;
    throw new FairleadError('UNAVAILABLE', `JetStream refuses ${request}: ${failed.data.error.description}`);
  }
}

function startOf(startsAt: StartsAt): object {
  if ('time' in startsAt) return { deliver_policy: 'by_start_time', opt_start_time: startsAt.time.toISOString() };
  if ('number' in startsAt) return { deliver_policy: 'by_start_sequence', opt_start_seq: startsAt.number };
  return { deliver_policy: 'new' };
}
