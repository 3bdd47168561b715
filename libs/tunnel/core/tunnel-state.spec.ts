import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PARKED, stepTunnel, type TunnelEvent, type TunnelRole, type TunnelState } from './tunnel-state.js';

const FRAMES = ['open', 'opened', 'refused', 'data', 'eof', 'reset'] as const;
type FrameName = (typeof FRAMES)[number];

const open = (sent: 'flowing' | 'ended', received: 'flowing' | 'ended'): TunnelState => ({
  phase: 'open',
  sent,
  received,
});
const closed = (cause: 'complete' | 'refused' | 'reset' | 'lost'): TunnelState => ({ phase: 'closed', cause });

const STATES: readonly TunnelState[] = [
  PARKED,
  { phase: 'opening' },
  open('flowing', 'flowing'),
  open('ended', 'flowing'),
  open('flowing', 'ended'),
];

/** The whole table of what is allowed besides reset and lost; what is not here is PROTOCOL_ERROR. */
function expected(role: TunnelRole, state: TunnelState, direction: 'send' | 'receive', frame: FrameName) {
  const fromOpener = (direction === 'send') === (role === 'opener');
  if (state.phase === 'parked') return frame === 'open' && fromOpener ? { phase: 'opening' } : null;
  if (state.phase === 'opening') {
    if (fromOpener) return null;
    if (frame === 'opened') return open('flowing', 'flowing');
    return frame === 'refused' ? closed('refused') : null;
  }
  if (state.phase !== 'open') return state;
  const half = direction === 'send' ? state.sent : state.received;
  if (half === 'ended') return null;
  if (frame === 'data') return state;
  if (frame !== 'eof') return null;
  const next = direction === 'send' ? open('ended', state.received) : open(state.sent, 'ended');
  return next.phase === 'open' && next.sent === 'ended' && next.received === 'ended' ? closed('complete') : next;
}

function attempt(role: TunnelRole, state: TunnelState, event: TunnelEvent): TunnelState | string {
  try {
    return stepTunnel(role, state, event);
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

describe.each(['opener', 'acceptor'] as const)('a tunnel, seen by its %s', (role) => {
  for (const state of STATES) {
    const name = JSON.stringify(state);
    for (const direction of ['send', 'receive'] as const) {
      for (const frame of FRAMES) {
        const wanted = frame === 'reset' ? closed('reset') : expected(role, state, direction, frame);
        it(`${name} + ${direction} ${frame} → ${wanted ? JSON.stringify(wanted) : 'PROTOCOL_ERROR'}`, () => {
          expect(attempt(role, state, { direction, frame })).toEqual(wanted ?? 'PROTOCOL_ERROR');
        });
      }
    }
    it(`${name} ends as lost when its stream does`, () => {
      expect(stepTunnel(role, state, { direction: 'lost' })).toEqual(closed('lost'));
    });
  }

  it.each(['complete', 'refused', 'reset', 'lost'] as const)('stays closed once it is (%s)', (cause) => {
    const events: TunnelEvent[] = FRAMES.flatMap((frame) => [
      { direction: 'send', frame },
      { direction: 'receive', frame },
    ]);
    for (const event of [...events, { direction: 'lost' } as const]) {
      expect(stepTunnel(role, closed(cause), event)).toEqual(closed(cause));
    }
  });
});

type Sender = 'opener' | 'acceptor';

describe('both ends', () => {
  it('agree on any order of legal frames, whatever is still under way', () => {
    // A number picks who moves and how: send a frame this end may send, or receive the oldest one under way.
    fc.assert(
      fc.property(fc.array(fc.nat(1_000), { maxLength: 40 }), (choices) => {
        const states: Record<Sender, TunnelState> = { opener: PARKED, acceptor: PARKED };
        const underWay: Record<Sender, FrameName[]> = { opener: [], acceptor: [] };
        const receive = (to: Sender): void => {
          const frame = underWay[to === 'opener' ? 'acceptor' : 'opener'].shift();
          if (frame) states[to] = stepTunnel(to, states[to], { direction: 'receive', frame });
        };
        for (const choice of choices) {
          const who: Sender = choice % 2 === 0 ? 'opener' : 'acceptor';
          const frame = FRAMES[Math.floor(choice / 4) % FRAMES.length] as FrameName;
          if (choice % 4 >= 2) receive(who);
          else if (states[who].phase !== 'closed' && isLegal(who, states[who], frame)) {
            states[who] = stepTunnel(who, states[who], { direction: 'send', frame });
            underWay[who].push(frame);
          }
        }
        while (underWay.opener.length > 0) receive('acceptor');
        while (underWay.acceptor.length > 0) receive('opener');
        expect(states).toSatisfy(() => isConsistent(states.opener, states.acceptor));
      }),
      { numRuns: 2_000 },
    );
  });
});

function isLegal(role: TunnelRole, state: TunnelState, frame: FrameName): boolean {
  return typeof attempt(role, state, { direction: 'send', frame }) !== 'string';
}

/** The same state as the other end must see it, once nothing is under way. */
function mirrored(state: TunnelState): TunnelState {
  return state.phase === 'open' ? { phase: 'open', sent: state.received, received: state.sent } : state;
}

/** A reset may cross the frame that completed or refused the tunnel at the other end; all else is the same at both. */
function isConsistent(opener: TunnelState, acceptor: TunnelState): boolean {
  const reset = [opener, acceptor].some((state) => state.phase === 'closed' && state.cause === 'reset');
  if (reset) return opener.phase === 'closed' && acceptor.phase === 'closed';
  return JSON.stringify(mirrored(opener)) === JSON.stringify(acceptor);
}
