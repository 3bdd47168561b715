import { describe, expect, it } from 'vitest';
import { RECORD_EXAMPLES } from './audit-record-examples.js';
import { ABOUT_RECORDS } from './audit-record-fields.js';
import { auditRecordsPage } from './audit-records-page.js';
import { RECORDS, RECORD_KINDS, auditRecords } from './audit-records.js';

const page = auditRecordsPage();

describe.each(RECORD_KINDS)('the body of an entry of the kind %s', (kind) => {
  it('has an example of each of its forms, as its schema says', () => {
    const { anyOf } = auditRecords().definitions[kind]!;
    expect(RECORD_EXAMPLES[kind]).toHaveLength(anyOf?.length ?? 1);
    for (const example of RECORD_EXAMPLES[kind]) expect(RECORDS[kind].parse(example)).toEqual(example);
  });

  it('is on the page field by field, and says nothing of fields that it does not have', () => {
    const section = page.split(`\n## ${kind}\n`)[1]?.split('\n## ')[0];
    for (const path of Object.keys(ABOUT_RECORDS[kind]!)) expect(section).toContain(`\n| \`${path}\` |`);
  });
});

it('leaves objects open, for fields that are to come', () => {
  expect(JSON.stringify(auditRecords())).not.toContain('"additionalProperties":false');
});

it('tells what audit.k8s.io calls a field', () => {
  expect(page).toMatch(
    /^\| `asGroups` \| list of string, at most 256 characters, at most 32, may be absent \|.*`impersonatedUser\.groups` \|$/m,
  );
});
