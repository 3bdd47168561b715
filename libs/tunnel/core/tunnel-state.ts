import { FairleadError } from '@fairlead/errors';

/** Who sends Open (a gateway, towards an agent or another replica; an agent, out of its cluster) and who answers it. */
export type TunnelRole = 'opener' | 'acceptor';

/** The life of one tunnel as one end sees it; PROTOCOL.md has the diagram. */
export type TunnelState =
  | { readonly phase: 'parked' }
  | { readonly phase: 'opening' }
  | { readonly phase: 'open'; readonly sent: Half; readonly received: Half }
  | { readonly phase: 'closed'; readonly cause: CloseCause };

/** One direction: bytes may still come, or Eof has passed. */
export type Half = 'flowing' | 'ended';

export type CloseCause = 'complete' | 'refused' | 'reset' | 'lost';

export type TunnelEvent =
  | { readonly direction: 'send' | 'receive'; readonly frame: 'open' | 'opened' | 'refused' | 'data' | 'eof' | 'reset' }
  /** The HTTP/2 stream is gone. */
  | { readonly direction: 'lost' };

export const PARKED: TunnelState = { phase: 'parked' };

/**
 * The next state. Throws PROTOCOL_ERROR for a frame that this state does not allow, whichever end would send it, so that
 * our own mistakes fail as loudly as the peer's.
 */
export function stepTunnel(role: TunnelRole, state: TunnelState, event: TunnelEvent): TunnelState {
  if (state.phase === 'closed') return state;
  if (event.direction === 'lost') return { phase: 'closed', cause: 'lost' };
  if (event.frame === 'reset') return { phase: 'closed', cause: 'reset' };
  const fromOpener = (event.direction === 'send') === (role === 'opener');
  switch (state.phase) {
    case 'parked':
      if (event.frame === 'open' && fromOpener) return { phase: 'opening' };
      break;
    case 'opening':
      if (event.frame === 'opened' && !fromOpener) return { phase: 'open', sent: 'flowing', received: 'flowing' };
      if (event.frame === 'refused' && !fromOpener) return { phase: 'closed', cause: 'refused' };
      break;
    case 'open':
      return stepOpen(state, event.direction, event.frame);
  }
  throw unexpected(event.frame, state.phase);
}

function stepOpen(
  state: Extract<TunnelState, { phase: 'open' }>,
  direction: 'send' | 'receive',
  frame: 'open' | 'opened' | 'refused' | 'data' | 'eof',
): TunnelState {
  const half = direction === 'send' ? 'sent' : 'received';
  if ((frame !== 'data' && frame !== 'eof') || state[half] === 'ended') throw unexpected(frame, 'open');
  if (frame === 'data') return state;
  const next = { ...state, [half]: 'ended' as const };
  return next.sent === 'ended' && next.received === 'ended' ? { phase: 'closed', cause: 'complete' } : next;
}

function unexpected(frame: string, phase: string): FairleadError {
  return new FairleadError('PROTOCOL_ERROR', `a tunnel that is ${phase} cannot carry the frame "${frame}" now`);
}
