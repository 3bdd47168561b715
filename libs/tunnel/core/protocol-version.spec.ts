import { describe, expect, it } from 'vitest';
import { PROTOCOL_VERSIONS, agreeOnVersion } from './protocol-version.js';

const spoken = (oldest: number, newest: number): { oldest: number; newest: number } => ({ oldest, newest });

describe('agreeOnVersion', () => {
  it.each([
    ['the same', spoken(1, 1), spoken(1, 1), 1],
    ['an agent one older', spoken(1, 1), spoken(1, 2), 1],
    ['an agent one newer', spoken(1, 2), spoken(1, 1), 1],
    ['both with two', spoken(1, 2), spoken(1, 2), 2],
    ['an agent of far ahead that still speaks ours', spoken(2, 9), spoken(2, 3), 3],
  ])('finds the newest of both: %s', (_what, agent, gateway, version) => {
    expect(agreeOnVersion(agent, gateway)).toBe(version);
  });

  it.each([
    ['an agent that is too old', spoken(1, 1), spoken(2, 3), /the agent is too old.*fairlead cluster import/],
    ['a gateway that is too old', spoken(3, 4), spoken(1, 2), /this gateway is too old/],
    ['an agent that names none', spoken(0, 0), spoken(1, 1), /the agent is too old/],
    ['an agent whose oldest is newer than its newest', spoken(5, 1), spoken(1, 1), /speaks protocol 5 to 1/],
  ])('says who is to be upgraded: %s', (_what, agent, gateway, message) => {
    expect(() => agreeOnVersion(agent, gateway)).toThrow(message);
    expect(() => agreeOnVersion(agent, gateway)).toThrow(expect.objectContaining({ code: 'VERSION_UNSUPPORTED' }));
  });

  it('speaks what it says it speaks', () => {
    expect(agreeOnVersion(PROTOCOL_VERSIONS)).toBe(PROTOCOL_VERSIONS.newest);
  });
});
