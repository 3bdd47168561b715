import { describe, expect, it } from 'vitest';
import { continueTrace, formatTraceparent } from './trace-context.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const randomHex = (bytes: number): string => 'ab'.repeat(bytes);
const OWN = { traceId: 'ab'.repeat(16), spanId: 'ab'.repeat(8), flags: '00' };

describe('a trace', () => {
  it('is continued with a span of our own', () => {
    const context = continueTrace([`00-${TRACE}-${SPAN}-01`], randomHex);
    expect(context).toEqual({ traceId: TRACE, spanId: OWN.spanId, flags: '01' });
    expect(formatTraceparent(context)).toBe(`00-${TRACE}-${OWN.spanId}-01`);
  });

  it('of a later version is continued by what is known of it', () => {
    expect(continueTrace([`cc-${TRACE}-${SPAN}-01-what-else`], randomHex)).toEqual({
      traceId: TRACE,
      spanId: OWN.spanId,
      flags: '00',
    });
  });

  it.each<[string, string[]]>([
    ['there is none', []],
    ['there are two', [`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-01`]],
    ['it is empty', ['']],
    ['it says more than its version', [`00-${TRACE}-${SPAN}-01-more`]],
    ['its version is not one', [`ff-${TRACE}-${SPAN}-01`]],
    ['its trace is zero', [`00-${'0'.repeat(32)}-${SPAN}-01`]],
    ['its span is zero', [`00-${TRACE}-${'0'.repeat(16)}-01`]],
    ['it is in capitals', [`00-${TRACE.toUpperCase()}-${SPAN}-01`]],
    ['it is too short', [`00-${TRACE.slice(1)}-${SPAN}-01`]],
    ['it has lines', [`00-${TRACE}-${SPAN}-01\nx`]],
  ])('begins here when %s', (_, traceparent) => {
    expect(continueTrace(traceparent, randomHex)).toEqual(OWN);
  });
});
