import { EventPatterns, SubscriberKind, SubscriberName } from '@fairlead/contracts';
import { z } from 'zod';
import { event } from './event-shape.js';

const subscriber = { subscriberId: z.uuid(), name: SubscriberName, kind: SubscriberKind };

/** Who outside is told of events. */
export const SUBSCRIBER_EVENTS = {
  'dev.fairlead.subscriber.created.v1': event({ ...subscriber, types: EventPatterns }),
  'dev.fairlead.subscriber.removed.v1': event(subscriber),
} as const;
