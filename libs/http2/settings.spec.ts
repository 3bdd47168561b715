import { describe, expect, it } from 'vitest';
import { DEFAULT_ABUSE_LIMITS } from './options.js';
import { INITIAL_SETTINGS, applySettings, greeting } from './settings.js';
import { CODE, PREFACE, SETTING } from './wire/constants.js';
import { settingsFrame } from './wire/frames.js';

const applied = (...entries: [number, number][]): typeof INITIAL_SETTINGS => {
  const settings = { ...INITIAL_SETTINGS };
  applySettings(settings, settingsFrame(entries).subarray(9));
  return settings;
};

it('takes what binds us, the last of each, and nothing else', () => {
  const settings = applied(
    [SETTING.initialWindowSize, 1],
    [SETTING.initialWindowSize, 2 ** 31 - 1],
    [SETTING.maxFrameSize, 2 ** 24 - 1],
    [SETTING.maxConcurrentStreams, 0],
    [SETTING.headerTableSize, 0],
    [0xfafa, 2 ** 32 - 1],
  );
  expect(settings).toEqual({ initialWindowBytes: 2 ** 31 - 1, maxFrameBytes: 2 ** 24 - 1, maxConcurrentStreams: 0 });
  expect(applied()).toEqual(INITIAL_SETTINGS);
});

describe('refuses', () => {
  it.each<[string, [number, number][], number]>([
    ['a window beyond 2^31-1', [[SETTING.initialWindowSize, 2 ** 31]], CODE.flowControlError],
    ['frames below 16 KiB', [[SETTING.maxFrameSize, 16_383]], CODE.protocolError],
    ['frames beyond 2^24-1', [[SETTING.maxFrameSize, 2 ** 24]], CODE.protocolError],
    ['push that is neither on nor off', [[SETTING.enablePush, 2]], CODE.protocolError],
    ['more entries than there are settings', Array.from({ length: 33 }, () => [0xfafa, 0]), CODE.enhanceYourCalm],
  ])('%s', (_what, entries, code) => {
    expect(() => applied(...entries)).toThrow(expect.objectContaining({ code }));
  });

  it('a payload of an odd length', () => {
    const code = CODE.frameSizeError;
    expect(() => applySettings({ ...INITIAL_SETTINGS }, Buffer.alloc(7))).toThrow(expect.objectContaining({ code }));
  });
});

it('greets with settings, a client with the preface before them', () => {
  const headers = { maxListBytes: 4_096, maxFields: 9 };
  const options = { maxConcurrentStreams: 7, streamWindowBytes: 99, headers, abuse: DEFAULT_ABUSE_LIMITS };
  const said = greeting('server', options);
  expect(applied()).toEqual(INITIAL_SETTINGS);
  const settings = { ...INITIAL_SETTINGS };
  applySettings(settings, said.subarray(9));
  expect(settings).toMatchObject({ initialWindowBytes: 99, maxConcurrentStreams: 7, maxFrameBytes: 131_072 });
  expect(greeting('client', options)).toEqual(Buffer.concat([PREFACE, said]));
});
