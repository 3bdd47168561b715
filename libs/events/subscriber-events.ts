import { EventPatterns, IsoTime, SubscriberKind, SubscriberName } from '@fairlead/contracts';
import { z } from 'zod';
import { event } from './event-shape.js';

const subscriber = { subscriberId: z.uuid(), name: SubscriberName, kind: SubscriberKind };

/** Who outside is told of events. */
export const SUBSCRIBER_EVENTS = {
  'dev.fairlead.subscriber.created.v1': event({ ...subscriber, types: EventPatterns }),
  'dev.fairlead.subscriber.removed.v1': event(subscriber),
  'dev.fairlead.subscriber.rotated.v1': event(subscriber),
  /** One of the two is null: from which moment, or from which number of the stream. */
  'dev.fairlead.subscriber.replayed.v1': event({
    ...subscriber,
    fromTime: IsoTime.nullable(),
    fromNumber: z.int().min(1).nullable(),
  }),
} as const;
