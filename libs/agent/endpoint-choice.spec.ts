import { beforeEach, expect, it } from 'vitest';
import { EndpointChoice, nameOf } from './endpoint-choice.js';
import { named } from './testing/named.js';

const own = ['a', 'b', 'c'].map((host) => ({ host, port: 7443 }));
const [a, b] = [own[0]!, own[1]!];
const clock = { monotonicMs: (): number => nowMs };
const at = (host: string): { host: string; port: number } => ({ host, port: 443 });
let nowMs: number;
let choice: EndpointChoice;

beforeEach(() => {
  nowMs = 1;
  choice = new EndpointChoice(own, clock);
});

/** All that fails is dialled in this order; each fails twice before the next rank is. */
function order(count: number): string[] {
  return Array.from({ length: count }, () => {
    nowMs += 1;
    const picked = choice.pick();
    choice.avoid(picked, 'failed');
    return picked.host;
  });
}

it('takes one that no other link of ours uses or tries', () => {
  const taken = [choice.pick()];
  const leave = choice.occupy(taken[0]!);
  for (const _ of [1, 2]) {
    const next = choice.pick();
    choice.occupy(next);
    taken.push(next);
  }
  expect(taken.map(nameOf).sort()).toEqual(['a:7443', 'b:7443', 'c:7443']);
  leave();
  expect(choice.pick()).toBe(taken[0]);
});

it('takes the one whose last problem is longest ago, of those that are used alike', () => {
  for (const endpoint of own) {
    nowMs += 1;
    choice.avoid(endpoint, 'left');
  }
  expect(choice.pick().host).toBe('a');
  nowMs += 1;
  choice.avoid(a, 'left');
  expect(choice.pick().host).toBe('b');
});

it('with nothing named, dials the import manifest’s own in turn, however often they fail', () => {
  const dialled = order(9);
  expect(dialled.slice(0, 3).sort()).toEqual(['a', 'b', 'c']);
  expect(dialled.slice(3)).toEqual([...dialled.slice(0, 3), ...dialled.slice(0, 3)]);
  nowMs += 600_000;
  expect(choice.pick().host).toBe(dialled[0]);
});

it('dials active ones of its region first, others next, draining ones then, and old ones last', () => {
  choice.follow({
    region: 'eu',
    endpoints: [
      named('left', { state: 'draining', region: 'eu' }),
      named('far', { region: 'us' }),
      named('near', { region: 'eu' }),
    ],
    formerEndpoints: [{ address: 'former:443' }],
  });
  expect(order(6)).toEqual(['near', 'near', 'far', 'far', 'left', 'left']);
  expect(order(8).sort()).toEqual(['a', 'a', 'b', 'b', 'c', 'c', 'former', 'former']);
  // All of them are away by now: the one whose last problem is longest ago.
  expect(order(2)).toEqual(['near', 'far']);
  nowMs += 60_000;
  expect(choice.pick().host).toBe('near');
});

it('without a region of its own takes all active ones alike, and those of no region last', () => {
  choice.follow({ endpoints: [named('eu', { region: 'eu' }), named('us', { region: 'us' }), named('any')] });
  const [first, second, third] = [1, 2, 3].map(() => {
    const picked = choice.pick();
    choice.occupy(picked);
    return picked.host;
  });
  expect(new Set([first, second, third])).toEqual(new Set(['any', 'eu', 'us']));
  choice = new EndpointChoice(own, clock);
  choice.follow({ region: 'eu', endpoints: [named('any'), named('eu', { region: 'eu' })] });
  expect(order(3)).toEqual(['eu', 'eu', 'any']);
});

it('dials by weight, also long after one had a problem', () => {
  choice.follow({ endpoints: [named('light'), named('heavy', { weight: 9 })] });
  const share = (): number => {
    const picked = Array.from({ length: 2_000 }, () => choice.pick().host);
    return picked.filter((host) => host === 'heavy').length / picked.length;
  };
  expect(share()).toBeCloseTo(0.9, 1);
  choice.avoid(at('heavy'), 'left');
  expect(share()).toBe(0);
  nowMs += 60_000;
  expect(share()).toBeCloseTo(0.9, 1);
});

it('is not led away by a drain or one failure, but by four dials to a replica that it has', () => {
  choice.follow({ endpoints: [named('new')] });
  choice.avoid(at('new'), 'left');
  choice.avoid(at('new'), 'failed');
  expect(choice.pick()).toEqual(at('new'));
  choice.worked(at('new'));
  for (const _ of [1, 2, 3]) choice.avoid(at('new'), 'same-replica');
  expect(choice.pick()).toEqual(at('new'));
  choice.avoid(at('new'), 'same-replica');
  expect(own).toContain(choice.pick());
});

it('keeps to a rank as long as one there may be had, and takes one of the next where all that are unused are away', () => {
  choice.follow({
    region: 'eu',
    endpoints: [named('dead', { region: 'eu' }), named('live', { region: 'eu' }), named('far')],
  });
  choice.occupy(at('live'));
  for (const _ of [1, 2]) {
    expect(choice.pick()).toEqual(at('dead'));
    choice.avoid(at('dead'), 'failed');
  }
  expect(choice.pick()).toEqual(at('far'));
  // With nothing named, as it always was: rather the one that failed than one that has a link.
  choice.follow({});
  for (const used of [a, b]) choice.occupy(used);
  for (const _ of [1, 2, 3]) choice.avoid(own[2]!, 'failed');
  expect(choice.pick().host).toBe('c');
});

it('knows each address once, and says what is said of it last', () => {
  choice = new EndpointChoice([{ ...a, serverName: 'link.one' }, b], clock);
  choice.follow({ endpoints: [named('a', { address: 'a:7443', serverName: 'link.two' }), named('d')] });
  expect(choice.size).toBe(3);
  choice.occupy({ host: 'd', port: 443 });
  expect(choice.pick()).toEqual({ ...a, serverName: 'link.two' });
  // What is not said of an endpoint is as the manifest has it.
  choice.occupy(a);
  choice.occupy(a);
  expect(choice.pick()).toEqual({ ...at('d'), serverName: 'link.one' });
  choice.follow({});
  expect(choice.size).toBe(2);
});

it('has a link at a draining or former endpoint replaced soon, and one in another region at leisure', () => {
  choice.follow({ endpoints: [named('old'), named('b', { address: 'b:7443' })] });
  choice.follow({
    region: 'eu',
    endpoints: [named('near', { region: 'eu' }), named('far'), named('left', { state: 'draining' })],
    formerEndpoints: [{ address: 'old:443' }],
  });
  expect(['near', 'far', 'left', 'old'].map((host) => choice.urgency(at(host)))).toEqual([
    'stay',
    'at-leisure',
    'soon',
    'soon',
  ]);
  // Nobody ever named it: it stays as long as it stands. The other one was named.
  expect([a, b].map((endpoint) => choice.urgency(endpoint))).toEqual(['stay', 'soon']);
  expect(choice.better(at('far'))).toEqual(at('near'));
  expect(choice.better(at('near'))).toBeNull();
});

it('finds nothing better while that is away, and nothing better than the only one there is', () => {
  choice.follow({ endpoints: [named('left', { state: 'draining' }), named('other', { state: 'draining' })] });
  expect([choice.better(at('left')), choice.urgency(at('left'))]).toEqual([null, 'stay']);
  choice.follow({ endpoints: [named('left', { state: 'draining' }), named('new')] });
  expect(choice.better(at('left'))).toEqual(at('new'));
  choice.avoid(at('new'), 'failed');
  choice.avoid(at('new'), 'failed');
  expect([choice.better(at('left')), choice.urgency(at('left'))]).toEqual([null, 'soon']);
});
