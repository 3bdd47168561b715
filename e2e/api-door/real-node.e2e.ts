// @tier full: needs root, Debian's packages and a real node; `streams` shows each way and each protocol on the test kubelet
import { readFile } from 'node:fs/promises';
import { get } from 'node:https';
import { createInterface } from 'node:readline';
import { LONGEST_NODE_MS, type Kubectl } from '@fairlead/testbed';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { STREAM_PROTOCOLS, itStreams, type StreamProtocol, type Streaming } from '../support/pod-streams.js';
import { adminToken, whoHoldsTheLink } from '../support/test-stack.js';
import { describeBulk } from './bulk-stories.js';
import { itReachesContainers, type InContainers } from './container-stories.js';
import { describeDeaths } from './death-stories.js';
import {
  describeStreams,
  kubectlsOf,
  startRealStreamingWorld,
  terminalsOf,
  type StreamingWorld,
  type Via,
} from './world.js';

const START_MS = 300_000;
/** There may be another real node on this machine first. */
const START_AFTER_ANOTHER_MS = START_MS + LONGEST_NODE_MS;
const [FOLLOWERS, TICKS] = [200, 20];

let world: StreamingWorld;
let terminals: StreamingWorld['kubectls'];
beforeAll(async () => {
  world = await startRealStreamingWorld();
  terminals = await terminalsOf(world);
}, START_AFTER_ANOTHER_MS);
afterAll(() => world?.[Symbol.asyncDispose](), START_MS);

describeStreams(
  [
    ['own', 'WebSocket'],
    ['own', 'SPDY'],
    ['relay', 'WebSocket'],
    ['relay', 'SPDY'],
  ],
  () => world,
);

/** As old and as new as modules have them. Before 1.29 there was SPDY alone. */
const OTHERS = [
  ['kubectl-oldest', 'own', 'SPDY'],
  ['kubectl-oldest', 'relay', 'SPDY'],
  ['kubectl-newest', 'own', 'WebSocket'],
  ['kubectl-newest', 'own', 'SPDY'],
  ['kubectl-newest', 'relay', 'WebSocket'],
  ['kubectl-newest', 'relay', 'SPDY'],
] as const;

function describeOthers(what: string, stories: (protocol: StreamProtocol, of: () => Streaming & InContainers) => void) {
  describe.each(OTHERS)(`%s at the replica whose way is %s, with %s, ${what}`, (version, via, protocol) => {
    let kubectl: Kubectl;
    let terminal: Kubectl;
    beforeAll(async () => {
      kubectl = (await kubectlsOf(world, { version }))[via][protocol];
      terminal = (await terminalsOf(world, version))[via][protocol];
    });
    stories(protocol, () => ({ kubectl, terminal, pods: world.pods, dir: world.dir, way: `${version}-${via}` }));
  });
}

// Before anything is added for debugging: kubectl says then which container it means.
describeOthers('streams', itStreams);

describe.each<Via>(['own', 'relay'])('in a real container, through the replica whose way is %s', (via) => {
  describe.each(STREAM_PROTOCOLS)('by %s', (protocol) => {
    itReachesContainers(protocol, () => ({
      kubectl: world.kubectls[via][protocol],
      terminal: terminals[via][protocol],
      way: via,
    }));
  });

  it(`${FOLLOWERS} follow a log at once, and miss nothing`, { timeout: START_MS }, async () => {
    const { holder, other } = await whoHoldsTheLink(world.stack);
    const replica = via === 'own' ? holder : other;
    const { doorUrl = '' } = world.stack.gateways.find(({ name }) => name === replica) ?? {};
    const access = { ca: await readFile(world.stack.api.caFile, 'utf8'), token: await adminToken(world.stack) };
    const everybody = Promise.withResolvers<void>();
    let reading = 0;
    const begun = (): Promise<void> => {
      if (++reading === FOLLOWERS) everybody.resolve();
      return everybody.promise;
    };
    const followers = Array.from({ length: FOLLOWERS }, () => follow(doorUrl, access, begun));
    const gaps = (await Promise.all(followers)).flatMap((ticks) =>
      ticks.filter((tick, index) => index > 0 && tick !== ticks[index - 1]! + 1),
    );
    expect(gaps).toEqual([]);
  });
});

describeOthers('in a real container', itReachesContainers);

interface Access {
  readonly ca: string;
  readonly token: string;
}

/** The ticks that `logs -f` gave: some before everybody has begun, and some after. Rejects if it ends earlier. */
function follow(doorUrl: string, { ca, token }: Access, begun: () => Promise<void>): Promise<number[]> {
  const url = `${doorUrl}/clusters/demo/api/v1/namespaces/default/pods/ticker/log?follow=true&tailLines=1`;
  const headers = { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const asking = get(url, { ca, headers, agent: false, signal: AbortSignal.timeout(START_MS) }, (answer) => {
      const ticks: number[] = [];
      let wanted = Infinity;
      answer.once('end', () => reject(new Error(`${answer.statusCode}, and it ended after ${ticks.length} lines`)));
      createInterface({ input: answer }).on('line', (line) => {
        ticks.push(Number(line.slice('tick '.length)));
        if (ticks.length === 1) void begun().then(() => (wanted = ticks.length + TICKS));
        if (ticks.length < wanted) return;
        resolve(ticks);
        answer.destroy();
      });
    });
    asking.once('error', reject);
  });
}

describeBulk(() => world);
// The last: `world.kubectls` knows who held the link at the start, and a death moves it.
describeDeaths(() => world);
