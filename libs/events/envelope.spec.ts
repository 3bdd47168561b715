import { describe, expect, it } from 'vitest';
import { EVENTS, Envelope, createEvent, eventSubject, forgedRequestEvent, type EventType } from './index.js';

const source = { role: 'keys', credential: 'keys' } as const;
const types = Object.keys(EVENTS) as EventType[];

describe('events', () => {
  it.each(types)('%s has a subject that its role may publish', (type) => {
    expect(type).toMatch(/^dev\.fairlead\.[a-z-]+\.[a-z-]+\.v\d+$/);
    expect(eventSubject('default', source, type)).toBe(type.replace('dev.fairlead.', 'fairlead.events.default.keys.'));
  });

  it('are CloudEvents', () => {
    const actor = { kind: 'service', id: 'keys' } as const;
    const data = { tenantId: '_', subject: 'ca/1', actor, reason: 'OK', pins: [], trustDomain: 'fairlead.local' };
    const event = createEvent(source, 'dev.fairlead.ca.created.v1', data);
    expect(Envelope.parse(JSON.parse(event.body))).toMatchObject({
      id: event.id,
      source: '/fairlead/keys/keys',
      tenantid: '_',
      subject: 'ca/1',
      data,
    });
    expect(event.subject).toBe('fairlead.events._.keys.ca.created.v1');
  });

  it('refuse what their schema does not have, without repeating it', () => {
    const wrong = { tenantId: 'a.b' } as never;
    expect(() => createEvent(source, 'dev.fairlead.ca.created.v1', wrong)).toThrow(/not as its schema says/);
  });

  it('tell of a forged request', () => {
    const event = forgedRequestEvent(source, 'fairlead.rpc.default.keys.sign-agent.gateway.gateway-a');
    expect(Envelope.parse(JSON.parse(event?.body ?? ''))).toMatchObject({
      type: 'dev.fairlead.rpc.refused.v1',
      data: { tenantId: 'default', service: 'keys', method: 'sign-agent', actor: { kind: 'gateway', id: 'gateway-a' } },
    });
    expect(forgedRequestEvent(source, 'something.else')).toBeNull();
  });
});
