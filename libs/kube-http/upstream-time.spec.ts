import { expect, it } from 'vitest';
import { fromServer } from './request-headers.js';
import { tellUpstreamMs, upstreamMs } from './upstream-time.js';

it('reads what an agent tells, and nothing that is not one sensible number', () => {
  expect(upstreamMs(tellUpstreamMs(12.3456))).toBe(12.346);
  expect(upstreamMs(['content-type', 'text/plain'])).toBeUndefined();
  for (const wrong of ['', '-1', '1e9', 'NaN', '86400001', '999999999999', '1.2345', ' 1'])
    expect([wrong, upstreamMs(['fairlead-upstream-ms', wrong])]).toEqual([wrong, undefined]);
  expect(upstreamMs([...tellUpstreamMs(1), ...tellUpstreamMs(2)])).toBeUndefined();
});

it('goes no further than its hop, whoever wrote it', () => {
  expect(fromServer(['A', 'b', ...tellUpstreamMs(1), 'FAIRLEAD-UPSTREAM-MS', '2'])).toEqual(['A', 'b']);
});
