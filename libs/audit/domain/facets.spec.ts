import type { AuditFilter, AuditedPassage } from '@fairlead/contracts';
import { expect, it } from 'vitest';
import { passage } from '@fairlead/contracts/testing';
import { entryOfRecord, ownEntry } from './entry.js';
import { facetsWanted } from './facets.js';

/** As the search asks the database. */
function isFound({ facets }: { readonly facets: readonly string[] }, filter: AuditFilter): boolean {
  const { all, anyOf } = facetsWanted(filter);
  return (
    all.every((each) => facets.includes(each)) && anyOf.every((some) => some.some((each) => facets.includes(each)))
  );
}

const entryOf = (said: Partial<AuditedPassage>) => entryOfRecord(passage(said), 'gateway-a');

it('tells who was turned away at a door from who was beyond it', () => {
  const atDoor = entryOf({ decision: 'refused', status: 404, cause: 'NOT_FOUND' });
  const beyond = [401, 403].map((status) => entryOf({ status }));
  const neither = [entryOf({}), entryOf({ status: 404 }), entryOf({ phase: 'intent', status: 0, cause: 'OPEN' })];
  const found = (refused: AuditFilter['refused']): boolean[] =>
    [atDoor, ...beyond, ...neither].map((entry) => isFound(entry, { refused }));
  expect(found('door')).toEqual([true, false, false, false, false, false]);
  expect(found('beyond')).toEqual([false, true, true, false, false, false]);
  expect(found('anywhere')).toEqual([true, true, true, false, false, false]);
});

it('finds all about one passage, and nothing about another', () => {
  const { id } = passage();
  const unknown = ownEntry('unknown', {
    tenantId: 'default',
    at: new Date(0),
    source: 'audit',
    action: 'nobody knows',
    body: { passageId: id },
  });
  const about = [entryOf({ id, phase: 'intent', status: 0 }), entryOf({ id }), unknown];
  expect([...about, entryOf({})].map((entry) => isFound(entry, { id: id.toUpperCase() }))).toEqual([
    true,
    true,
    true,
    false,
  ]);
  expect(about.map((entry) => isFound(entry, { id, status: 200 }))).toEqual([false, true, false]);
});

it('finds a passage by what proved who asks, its address, its trace and its cluster by name or id', () => {
  const record = passage({ address: '192.0.2.7', asGroups: ['shop-deployers'] });
  const entry = entryOfRecord(record, 'gateway-a');
  const { proof, session } = record.identity!;
  const by: AuditFilter[] = [
    { proof: proof.id },
    { proof: session },
    { address: '192.0.2.7' },
    { trace: record.traceId },
    { cluster: 'demo' },
    { cluster: record.clusterId! },
    { text: 'deployers' },
  ];
  expect(by.filter((filter) => !isFound(entry, filter))).toEqual([]);
  expect(by.filter((filter) => isFound(entryOf({ cluster: 'other' }), filter))).toEqual([]);
});
