import { expect, it } from 'vitest';
import { endpointsOnlyHere, linkLines } from './cluster-import.js';

it.each([
  ['gateway-a:7444,gateway-b:7444', ['gateway-a:7444', 'gateway-b:7444']],
  ['"127.0.0.1:7444"', ['127.0.0.1:7444']],
  ["'[::1]:7444'", ['[::1]:7444']],
  ['gw.example.com:443,gateway-a:7444', []],
  ['192.0.2.1:443', []],
  ["'[2001:db8::1]:443'", []],
])('of agents that are told to dial %s nobody reaches %j from elsewhere', (said, expected) => {
  const manifest = `env:\n  - name: FAIRLEAD_ENDPOINTS\n    value: ${said}\n  - name: FAIRLEAD_LINKS\n    value: '2'\n`;
  expect(endpointsOnlyHere(manifest)).toEqual(expected);
});

it('an older manifest, that says none in this form, is not warned of', () => {
  expect(endpointsOnlyHere('kind: Namespace\n')).toEqual([]);
});

it('a link is for somebody who has none of the files here', () => {
  const link = { url: 'https://fairlead.example.com/import/x', expiresAt: '2026-11-29T10:00:00Z' };
  const own = linkLines(link, { certificateAuthority: 'PEM', certificateAuthorityFile: '/home/me/root.pem' });
  expect(own.at(-1)).toBe('curl -fsS --cacert root.pem https://fairlead.example.com/import/x | kubectl apply -f -');
  expect(own.at(-2)).toContain('/home/me/root.pem sent along as root.pem');
  expect(linkLines(link, {}).at(-1)).toBe('kubectl apply -f https://fairlead.example.com/import/x');
});
