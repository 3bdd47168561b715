import { createLogger } from '@fairlead/observability';
import { expect, it } from 'vitest';
import { ClockSkew } from './clock-skew.js';

it('says once that a clock is off, again when that changes, and that it is right again', () => {
  const lines: { event: string; level: string; skewSeconds: number }[] = [];
  const logger = createLogger('agent', 'debug', {
    write: (line: string) => void lines.push(JSON.parse(line) as never),
  });
  let nowMs = 1_800_000_000_000;
  const gatewayMs = nowMs;
  const skew = new ClockSkew(logger, { nowMs: () => nowMs });
  const saw = (offMs: number): string[] => {
    nowMs = gatewayMs + offMs;
    lines.length = 0;
    skew.saw(gatewayMs);
    return lines.map(({ event, level, skewSeconds }) => `${level} ${event} ${skewSeconds}`);
  };
  expect(saw(29_000)).toEqual([]);
  expect(saw(-240_000)).toEqual(['warn agent.clock.skewed -240']);
  expect(saw(-240_000)).toEqual([]);
  expect(saw(-200_000)).toEqual([]);
  expect(saw(-100_000)).toEqual(['warn agent.clock.skewed -100']);
  expect(saw(300_000)).toEqual(['warn agent.clock.skewed 300']);
  expect(saw(-2_000)).toEqual(['info agent.clock.agrees -2']);
  expect(saw(0)).toEqual([]);
});
