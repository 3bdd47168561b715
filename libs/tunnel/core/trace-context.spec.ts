import { describe, expect, it } from 'vitest';
import { formatTraceparent, readTraceparent, traceIdIn } from './trace-context.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

describe('what a caller says of its trace', () => {
  it('is read and written as it came', () => {
    const context = readTraceparent([`00-${TRACE}-${SPAN}-01`]);
    expect(context).toEqual({ traceId: TRACE, spanId: SPAN, flags: '01' });
    expect(context && formatTraceparent(context)).toBe(`00-${TRACE}-${SPAN}-01`);
  });

  it('in a later version counts by what is known of it', () => {
    expect(readTraceparent([`cc-${TRACE}-${SPAN}-01-what-else`])).toEqual({
      traceId: TRACE,
      spanId: SPAN,
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
  ])('is nothing when %s', (_, traceparent) => {
    expect(readTraceparent(traceparent)).toBeUndefined();
  });
});

describe('what a peer says the trace is', () => {
  it('is its id, or nothing if it cannot be read', () => {
    expect(traceIdIn(`00-${TRACE}-${SPAN}-01`)).toBe(TRACE);
    expect(traceIdIn('')).toBeUndefined();
    expect(traceIdIn(`00-${TRACE}-${SPAN}`)).toBeUndefined();
  });
});
