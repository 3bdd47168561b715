import type { NatsSubscription } from '@fairlead/contracts';
import { EVENT_STREAM, subscriberConsumer, subscriberInboxPrefix, STREAMS_API } from '@fairlead/messaging';

/** What a subscriber connects with. Its inboxes begin with its key, which no other subscriber knows: nobody can name one of them as where to answer. */
export function natsSubscription(id: string, publicKey: string): NatsSubscription {
  return {
    publicKey,
    stream: EVENT_STREAM,
    consumer: subscriberConsumer(id),
    apiPrefix: STREAMS_API,
    inboxPrefix: subscriberInboxPrefix(publicKey),
  };
}
