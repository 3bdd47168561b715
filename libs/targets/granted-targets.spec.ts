import { expect, it } from 'vitest';
import { decideTarget, type TargetGrant } from './granted-targets.js';

const allow = (grantId: string, ...targets: string[]): TargetGrant => ({ grantId, effect: 'allow', targets });
const GRANTS = [allow('b', '10.0.0.0/8:9100'), allow('a', '*.shop.svc:443', '10.1.0.0/16:1-9999')];

it.each<[string, number, string[]]>([
  ['10.2.3.4', 9_100, ['b']],
  ['10.1.3.4', 9_100, ['a', 'b']],
  ['10.1.3.4', 22, ['a']],
  ['web.shop.svc', 443, ['a']],
])('holds %s:%i by the grants whose rules do', (host, port, grantIds) => {
  expect(decideTarget(GRANTS, host, port)).toMatchObject({ allowed: true, grantIds });
});

it.each<[string, number]>([
  ['10.2.3.4', 22],
  ['192.0.2.1', 9_100],
  ['web.shop.svc', 80],
  ['web.bank.svc', 443],
  // It may lead into the block, and nobody here knows.
  ['db.internal', 9_100],
  ['169.254.169.254', 9_100],
])('holds nothing else: %s:%i', (host, port) => {
  expect(decideTarget(GRANTS, host, port)).toMatchObject({
    allowed: false,
    grantIds: [],
    because: 'no grant holds this target',
  });
});

it('is nothing where there is no grant, and where one denies, whatever another allows', () => {
  expect(decideTarget([], '10.1.1.1', 80)).toMatchObject({ allowed: false, because: 'there is no grant' });
  const denied = decideTarget([...GRANTS, { grantId: 'c', effect: 'deny' }], '10.1.3.4', 9_100);
  expect(denied).toMatchObject({ allowed: false, grantIds: ['c'] });
});
