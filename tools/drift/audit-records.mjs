// Writes docs/audit-records.md and docs/audit-records.json from libs/contracts, or with --check tells whether they are what it would give. Neither
// goes on when what is published there was changed otherwise than by an addition.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { auditRecords, auditRecordsPage, incompatibilities } from '../../libs/events/catalogue/index.ts';

const PAGE = 'docs/audit-records.md';
const DOCUMENT = 'docs/audit-records.json';
const INSTEAD = 'add a field beside it that may be absent';

function main(check) {
  const fresh = auditRecords();
  const published = existsSync(DOCUMENT) ? JSON.parse(readFileSync(DOCUMENT, 'utf8')) : { definitions: {} };
  const problems = incompatibilities(published.definitions, fresh.definitions, INSTEAD);
  const files = { [PAGE]: auditRecordsPage(), [DOCUMENT]: `${JSON.stringify(fresh, null, 1)}\n` };
  for (const [file, text] of Object.entries(files)) {
    if (problems.length > 0) break;
    if (!check) writeFileSync(file, text);
    else if (!existsSync(file) || readFileSync(file, 'utf8') !== text)
      problems.push(`${file} is out of date: run npm run generate`);
  }
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length > 0 ? 1 : 0;
}

main(process.argv.includes('--check'));
