import { describe, expect, it } from 'vitest';
import { EVENTS } from '@fairlead/events';
import { checkEventPatterns, leastPatterns, meansType, subjectsOf } from './event-patterns.js';

const TYPES = Object.keys(EVENTS);

describe('patterns of types of events', () => {
  it('are those of the catalogue', () => {
    expect(() => checkEventPatterns(['grant.created', 'grant.*', '*', 'audit-log.begun-anew'], TYPES)).not.toThrow();
    for (const pattern of ['grant.creatd', 'grants.*', 'created.grant', 'grant.v1']) {
      expect(() => checkEventPatterns(['*', pattern], TYPES)).toThrow(`there is no event ${pattern}`);
    }
  });

  it('are kept without those that others say already', () => {
    expect(leastPatterns(['grant.created', 'grant.*', 'client.created', 'grant.*'])).toEqual([
      'client.created',
      'grant.*',
    ]);
    expect(leastPatterns(['grant.created', '*'])).toEqual(['*']);
  });

  it('become subjects of one tenant, whoever tells the events and whatever their version', () => {
    expect(subjectsOf('acme', ['grant.created', 'cluster.*'])).toEqual([
      'fairlead.events.acme.*.cluster.>',
      'fairlead.events.acme.*.grant.created.*',
    ]);
    expect(subjectsOf('acme', ['*'])).toEqual(['fairlead.events.acme.*.>']);
  });

  it('mean what belongs to no tenant too, for the default one', () => {
    expect(subjectsOf('default', ['*'])).toEqual(['fairlead.events.default.*.>', 'fairlead.events._.*.>']);
  });

  it('tell the types that they mean', () => {
    expect(meansType(['grant.*'], 'dev.fairlead.grant.created.v1')).toBe(true);
    expect(meansType(['grant.created'], 'dev.fairlead.grant.created.v2')).toBe(true);
    expect(meansType(['grant.created'], 'dev.fairlead.grant.revoked.v1')).toBe(false);
    expect(meansType(['*'], 'com.example.grant.created.v1')).toBe(false);
  });
});
