import {
  CreatedSubscriber as CreatedFields,
  MAX_SUBSCRIBERS,
  NewSubscriber as NewFields,
  ReplayFrom,
  Subscriber as Fields,
  SubscriberName,
} from '@fairlead/contracts';
import { z } from 'zod';
import { empty, json, operationsOf } from './operation.js';

export const Subscriber = Fields.describe('Somebody outside who is told of events as they happen.');
export const CreatedSubscriber = CreatedFields.describe(
  'A subscriber as it was made; the secret of a webhook is shown here, and never again.',
);
export const NewSubscriber = NewFields.describe(
  'A subscriber of the kind `nats` makes a key itself, and says its public half here; one of the kind `webhook` says where it is called.',
);
export const SubscriberList = z.object({
  subscribers: z.array(Subscriber).max(500).describe('By name.'),
  next: SubscriberName.optional().describe('There may be more: ask again with it as `after`.'),
});

const { publicKey } = NewFields.shape;
export const SubscriberKey = z
  .strictObject({ publicKey: publicKey.unwrap() })
  .describe('The public half of a new nkey of a user.');
export const SubscriberReplay = z.strictObject({ from: ReplayFrom }).describe('From where on.');

const ByName = z.strictObject({ name: SubscriberName });
const next = { NOT_FOUND: 'see which there are: fairlead subscriber list' };

/** Who is told of the events of a tenant. */
export const subscriberOperations = operationsOf('subscribers', {
  createSubscriber: {
    route: 'POST /v1/subscribers',
    summary: 'Tell somebody outside of events as they happen',
    description: `Of the events of this tenant, those of the types that are said (\`grant.created\`, \`grant.*\`, \`*\`). A tenant has at most ${MAX_SUBSCRIBERS} subscribers.`,
    body: NewSubscriber,
    etag: true,
    answers: [json(201, 'It is told from now on.', CreatedSubscriber)],
    errors: ['ALREADY_EXISTS', 'QUOTA_EXCEEDED', 'DEADLINE_EXCEEDED'],
    next: { ALREADY_EXISTS: 'choose another name and another key; see which there are: fairlead subscriber list' },
  },
  listSubscribers: {
    route: 'GET /v1/subscribers',
    summary: 'List the subscribers',
    description: 'As many as fit in one answer; `next` is there if there are more.',
    query: z.strictObject({ after: SubscriberName.optional() }),
    answers: [json(200, 'Subscribers by name.', SubscriberList)],
  },
  getSubscriber: {
    route: 'GET /v1/subscribers/{name}',
    summary: 'Show a subscriber',
    params: ByName,
    etag: true,
    answers: [json(200, 'The subscriber.', Subscriber)],
    errors: ['NOT_FOUND'],
    next,
  },
  removeSubscriber: {
    route: 'DELETE /v1/subscribers/{name}',
    summary: 'Remove a subscriber',
    description: 'It is told nothing from then on, and what it was not told yet is forgotten.',
    params: ByName,
    conditional: true,
    answers: [empty('Removed.')],
    errors: ['NOT_FOUND', 'REVISION_CONFLICT', 'DEADLINE_EXCEEDED'],
    next,
  },
  rotateSubscriber: {
    route: 'PUT /v1/subscribers/{name}/key',
    summary: 'Give a subscriber another key',
    description:
      'The one before counts no more, and its connection is cut within two seconds. Where it stands is kept. Of the kind `nats` only.',
    params: ByName,
    body: SubscriberKey,
    etag: true,
    conditional: true,
    answers: [json(200, 'The subscriber after it.', Subscriber)],
    errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'CONFLICT', 'REVISION_CONFLICT', 'DEADLINE_EXCEEDED'],
    next: { ...next, ALREADY_EXISTS: 'make a new key' },
  },
  replaySubscriber: {
    route: 'POST /v1/subscribers/{name}/replay',
    summary: 'Tell a subscriber again',
    description:
      'From a moment on, or from a number that one of its messages has. Of the kind `nats`: in the stream, of what is kept there, 30 days and less where the stream is full; its requests for messages that wait are ended. Of the kind `webhook`: in the audit log, under the ids that messages had; GONE if the entry is older than what is kept.',
    params: ByName,
    body: SubscriberReplay,
    etag: true,
    answers: [json(200, 'The subscriber after it.', Subscriber)],
    errors: ['NOT_FOUND', 'GONE', 'CONFLICT', 'DEADLINE_EXCEEDED'],
    next,
  },
});
