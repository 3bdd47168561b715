import { SessionError } from './errors.js';
import type { SessionOptions } from './options.js';
import {
  CODE,
  DEFAULT_MAX_FRAME_BYTES,
  DEFAULT_WINDOW_BYTES,
  LARGEST_WINDOW_BYTES,
  PREFACE,
  SETTING,
} from './wire/constants.js';
import { settingsFrame } from './wire/frames.js';

/** Largest DATA frame we take: what a writer of ours puts in one, which is a read of a socket and some. */
export const MAX_DATA_FRAME_BYTES = 128 * 1024;

/** What one end says first. */
export function greeting(role: 'client' | 'server', options: SessionOptions): Buffer {
  const settings = settingsFrame([
    [SETTING.enablePush, 0],
    [SETTING.maxConcurrentStreams, options.maxConcurrentStreams],
    [SETTING.initialWindowSize, options.streamWindowBytes],
    [SETTING.maxFrameSize, MAX_DATA_FRAME_BYTES],
    [SETTING.maxHeaderListSize, options.headers.maxListBytes],
  ]);
  return role === 'client' ? Buffer.concat([PREFACE, settings]) : settings;
}

/** What a peer announced, as far as it binds us. */
export interface PeerSettings {
  initialWindowBytes: number;
  maxFrameBytes: number;
  maxConcurrentStreams: number;
}

/** Until the first SETTINGS frame (RFC 9113, section 6.5.2). */
export const INITIAL_SETTINGS: Readonly<PeerSettings> = {
  initialWindowBytes: DEFAULT_WINDOW_BYTES,
  maxFrameBytes: DEFAULT_MAX_FRAME_BYTES,
  maxConcurrentStreams: Number.POSITIVE_INFINITY,
};

/** More in one frame than there are settings, twice over. */
const MAX_ENTRIES = 32;
const ENTRY_BYTES = 6;
const LARGEST_FRAME_BYTES = 2 ** 24 - 1;

/** Applies a SETTINGS payload. Throws SessionError on values that RFC 9113 does not allow, and on too many. */
export function applySettings(settings: PeerSettings, payload: Buffer): void {
  if (payload.length % ENTRY_BYTES !== 0) throw new SessionError(CODE.frameSizeError, 'SETTINGS of an odd length');
  if (payload.length > MAX_ENTRIES * ENTRY_BYTES) {
    throw new SessionError(
      CODE.enhanceYourCalm,
      'SETTINGS with more entries than there are settings',
      'settings-flood',
    );
  }
  for (let at = 0; at < payload.length; at += ENTRY_BYTES) {
    applyOne(settings, payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
  }
}

function applyOne(settings: PeerSettings, id: number, value: number): void {
  switch (id) {
    case SETTING.initialWindowSize:
      if (value > LARGEST_WINDOW_BYTES) throw new SessionError(CODE.flowControlError, 'a window larger than 2^31-1');
      settings.initialWindowBytes = value;
      break;
    case SETTING.maxFrameSize:
      if (value < DEFAULT_MAX_FRAME_BYTES || value > LARGEST_FRAME_BYTES) {
        throw new SessionError(CODE.protocolError, 'a maximum frame size out of its bounds');
      }
      settings.maxFrameBytes = value;
      break;
    case SETTING.maxConcurrentStreams:
      settings.maxConcurrentStreams = value;
      break;
    case SETTING.enablePush:
      if (value > 1) throw new SessionError(CODE.protocolError, 'ENABLE_PUSH that is neither 0 nor 1');
      break;
    // The size of the peer's HPACK table does not concern an encoder without one; the size of lists is advice.
    default:
      break;
  }
}
