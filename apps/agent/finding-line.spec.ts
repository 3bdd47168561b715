import { expect, it } from 'vitest';
import { findingLine } from './finding-line.js';

it('keeps what somebody foreign said to one line that moves no cursor', () => {
  const finding = { check: 'tls', subject: 'gw:443', ok: false, detail: 'said\r\n\u001b[2Jok   pin\u009b1A\u202e' };
  expect(findingLine({ ...finding, remedy: 'look\u0007' })).toBe(
    'FAIL  tls         gw:443: said ?[2Jok pin?1A?\n      what to do  look?\n',
  );
  expect(findingLine({ check: 'dns', subject: 'gw', ok: true, detail: '10.0.0.1' })).toBe(
    'ok    dns         gw: 10.0.0.1\n',
  );
});
