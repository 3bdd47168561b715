import type { NatsConnection, Status } from '@nats-io/transport-node';

/** No request of JetStream has such a body: it refuses what NATS let through. */
const NO_REQUEST = '{"x":1}';

/**
 * Which of these subjects the server refuses to this connection. It tells each refusal before it answers what was sent after it, so nothing has to be waited for. What is not refused is really sent.
 */
export async function refusedPublishes(nc: NatsConnection, subjects: readonly string[]): Promise<Set<string>> {
  const refused = new Set<string>();
  const statuses = nc.status() as AsyncIterable<Status> & { stop(): void };
  const heard = (async () => {
    for await (const status of statuses) {
      const subject = refusedSubject(status);
      if (subject !== undefined) refused.add(subject);
    }
  })();
  for (const subject of subjects) nc.publish(subject, NO_REQUEST);
  await nc.flush();
  statuses.stop();
  await heard;
  return refused;
}

/** The same of listening; `<subject> <queue group>` asks for it in a group. */
export async function refusedSubscriptions(nc: NatsConnection, subjects: readonly string[]): Promise<Set<string>> {
  const asked = subjects.map((each) => {
    const [subject = '', queue] = each.split(' ');
    return [each, nc.subscribe(subject, { callback: () => undefined, ...(queue ? { queue } : {}) })] as const;
  });
  await nc.flush();
  const refused = new Set(asked.filter(([, subscription]) => subscription.isClosed()).map(([each]) => each));
  for (const [, subscription] of asked) if (!subscription.isClosed()) subscription.unsubscribe();
  return refused;
}

function refusedSubject(status: Status): string | undefined {
  if (status.type !== 'error' || status.error.name !== 'PermissionViolationError') return undefined;
  return (status.error as Error & { readonly subject?: string }).subject;
}
