import type { EventPublisher } from '@fairlead/events/publisher';
import { EVENTS, type EventType } from '@fairlead/events';
import type { Refusal } from '@fairlead/gateway';
import { silentLogger, type Logger } from '@fairlead/observability';
import { beforeEach, describe, expect, it } from 'vitest';
import { gatewayEvents } from './gateway-events.js';

const LONG = 'x'.repeat(100_000);
const complaints: unknown[] = [];
const logger: Logger = { ...silentLogger, error: (event, fields) => void complaints.push([event, fields?.['type']]) };
let published: { readonly type: EventType; readonly data: unknown }[];

/** Takes what the catalogue's schemas take, as the real one does. */
const publisher = {
  publish: (type: EventType, data: unknown) => void published.push({ type, data: EVENTS[type].parse(data) }),
} as unknown as EventPublisher;
const session = {
  tenantId: 'default',
  clusterId: crypto.randomUUID(),
  sessionId: crypto.randomUUID(),
  generation: 1,
};

beforeEach(() => {
  published = [];
  complaints.length = 0;
});

describe('a refusal', () => {
  it.each(['address', 'cluster', 'user', 'method', 'code'] as const)(
    'with a %s longer than the catalogue has is told with the beginning of it',
    (field) => {
      const refusal: Refusal = {
        code: 'UNAUTHENTICATED',
        reason: LONG,
        address: '::1',
        door: 'kube-api',
        [field]: LONG,
      };
      gatewayEvents(publisher, 'gateway-a', logger).accessRefused(refusal);
      expect(published).toHaveLength(1);
      expect(JSON.stringify(published)).toContain('xxxxxxxxxxxxxxxx');
      expect(complaints).toEqual([]);
    },
  );
});

describe('a stream', () => {
  const long = (most: number): string => 'x'.repeat(most);
  const asked = { kind: 'proxy', protocol: 'SPDY/3.1', commandCut: true, stdin: true, tty: true } as const;
  const named = { namespace: long(253), object: `services/${long(253)}`, container: long(253) };
  const stream = { ...asked, ...named, command: Array.from({ length: 32 }, () => long(256)) };
  const ids = { streamId: crypto.randomUUID(), tenantId: 'default', clusterId: session.clusterId };
  const sums = { status: 101, atDoor: false, bytesUp: 1, bytesDown: 2, durationMs: 3 };

  it.each(['opened', 'refused', 'ended'] as const)('is told as %s, however long what was asked for is', (phase) => {
    const asGroups = Array.from({ length: 40 }, () => LONG);
    const who = { user: LONG, as: LONG, asGroups, grantIds: [crypto.randomUUID()], address: LONG, reason: LONG };
    gatewayEvents(publisher, 'gateway-a', logger).stream({ phase, ...ids, ...who, stream, ...sums });
    expect(published).toMatchObject([{ type: `dev.fairlead.stream.${phase}.v1`, data: named }]);
    expect(complaints).toEqual([]);
  });
});

describe('the use of the administrator’s token', () => {
  it('is told, however long what was asked for is', () => {
    const [tenantId, tokenId] = ['default', crypto.randomUUID()];
    const use = { user: LONG, address: LONG, cluster: LONG, method: LONG, door: 'kube-api', suppressed: 3 } as const;
    gatewayEvents(publisher, 'gateway-a', logger).administratorUsed({ ...use, tenantId, tokenId });
    const data = { tokenId, at: 'door/kube-api', by: 'gateway-a', suppressed: 3 };
    expect(published).toMatchObject([{ type: 'dev.fairlead.administrator.used.v1', data }]);
    expect(complaints).toEqual([]);
  });
});

describe('an event that is not as its schema says', () => {
  it('is lost and logged once of its type; whoever reported it goes on', () => {
    const events = gatewayEvents(publisher, 'gateway-a', logger);
    for (let i = 0; i < 3; i += 1) {
      events.agentDisconnected({ ...session, durationMs: -1 });
      events.agentConnected({ ...session, generation: 0.5 });
    }
    events.agentDisconnected({ ...session, durationMs: 1 });
    expect(complaints).toEqual([
      ['events.not_published', 'dev.fairlead.agent.disconnected.v1'],
      ['events.not_published', 'dev.fairlead.agent.connected.v1'],
    ]);
    expect(published).toHaveLength(1);
  });
});
