import { EventPatterns, IsoTime, SubscriberKind, SubscriberName } from '@fairlead/contracts';
import { z } from 'zod';
import { event } from './event-shape.js';

const subscriber = { subscriberId: z.uuid(), name: SubscriberName, kind: SubscriberKind };

/** Who outside is told of events. */
export const SUBSCRIBER_EVENTS = {
  'dev.fairlead.subscriber.created.v1': event({ ...subscriber, types: EventPatterns }),
  'dev.fairlead.subscriber.removed.v1': event(subscriber),
  'dev.fairlead.subscriber.rotated.v1': event(subscriber),
  /** One of the two is null: from which moment, or from which number: of the stream, or, of a webhook, of the audit log. */
  'dev.fairlead.subscriber.replayed.v1': event({
    ...subscriber,
    fromTime: IsoTime.nullable(),
    fromNumber: z.int().min(1).nullable(),
  }),
  /** `reason`: GONE: it answered 410. QUOTA_EXCEEDED: it has as many dead letters as there may be. NOT_FOUND: it has no secret. */
  'dev.fairlead.subscriber.disabled.v1': event(subscriber),
  'dev.fairlead.subscriber.enabled.v1': event(subscriber),
  /** So many dead letters. */
  'dev.fairlead.subscriber.redelivered.v1': event({ ...subscriber, count: z.int().min(0) }),
} as const;
