// Prints the events that a subscriber is told, one line of JSON each. README.md beside this folder says how to run it.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { jetstream } from '@nats-io/jetstream';
import { fromSeed } from '@nats-io/nkeys';
import { connect, nkeyAuthenticator } from '@nats-io/transport-node';

const { NATS_URL = '', NATS_SEED_FILE = '', NATS_CONSUMER = '', NATS_CA_FILE } = process.env;
const STREAM = 'FAIRLEAD_EVENTS';

const seed = new TextEncoder().encode(readFileSync(NATS_SEED_FILE, 'utf8').trim());
const nc = await connect({
  servers: NATS_URL,
  authenticator: nkeyAuthenticator(seed),
  // The only place where this key may listen.
  inboxPrefix: `_INBOX_${fromSeed(seed).getPublicKey()}`,
  tls: NATS_URL.startsWith('tls:') ? { handshakeFirst: true, ...(NATS_CA_FILE ? { caFile: NATS_CA_FILE } : {}) } : null,
  maxReconnectAttempts: -1,
});
process.once('SIGTERM', () => void nc.close());
void (async () => {
  for await (const status of nc.status()) {
    if (status.type === 'error') process.stderr.write(`${status.error.message}\n`);
  }
})();

while (!nc.isClosed()) {
  try {
    const consumer = await jetstream(nc, { apiPrefix: 'fairlead.streams' }).consumers.get(STREAM, NATS_CONSUMER);
    // An event that is not acknowledged within 30 s comes again: drop repetitions by its id.
    for await (const message of await consumer.consume({ max_messages: 100, expires: 30_000 })) {
      process.stdout.write(`${message.string()}\n`);
      message.ack();
    }
  } catch (error) {
    process.stderr.write(`${String(error)}\n`);
  }
  // The consumer is made anew when the subscriber is told again (fairlead subscriber replay).
  if (!nc.isClosed()) await sleep(1_000);
}

// As when its key counts no more.
const reason = await nc.closed();
if (reason) {
  process.stderr.write(`${reason.message}\n`);
  process.exitCode = 1;
}
