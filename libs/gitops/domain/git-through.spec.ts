import { expect, it } from 'vitest';
import { whyNotThrough } from './git-through.js';

const host = { name: 'main', sshHost: 'git.example.com' };

it.each([
  undefined,
  'git.example.com:22',
  'git.example.com:7999',
  'fairlead-egress.fairlead-system.svc:2222',
  'fairlead-egress.fairlead-system.svc.cluster.local:2222',
])('%s leads to the Git host', (through) => {
  expect(whyNotThrough(through, host)).toBeNull();
});

it.each([
  'git.example.org:22',
  'www.git.example.com:22',
  'fairlead-egress:2222',
  'fairlead-egress.fairlead-system:2222',
  'a.fairlead-egress.fairlead-system.svc:2222',
  '10.0.0.1:22',
])('%s does not, which says what would', (through) => {
  expect(whyNotThrough(through, host)).toMatch(
    /main cannot be dialled through .*: write git\.example\.com .*\.svc:PORT$/,
  );
});
