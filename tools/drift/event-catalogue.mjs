// Writes docs/events.md and docs/events/asyncapi.json from libs/events, or with --check tells whether they are what it would give. Neither
// goes on when an event that is published there was changed otherwise than by an addition.
import { readFileSync, writeFileSync } from 'node:fs';
import { asyncApi, eventsPage, incompatibilities, movedChannels } from '../../libs/events/catalogue/index.ts';

const PAGE = 'docs/events.md';
const DOCUMENT = 'docs/events/asyncapi.json';

function main(check) {
  const fresh = asyncApi();
  const published = JSON.parse(readFileSync(DOCUMENT, 'utf8'));
  const problems = [
    ...incompatibilities(published.components.schemas, fresh.components.schemas),
    ...movedChannels(published.channels, fresh.channels),
  ];
  const files = { [PAGE]: eventsPage(), [DOCUMENT]: `${JSON.stringify(fresh, null, 1)}\n` };
  for (const [file, text] of Object.entries(files)) {
    if (problems.length > 0) break;
    if (!check) writeFileSync(file, text);
    else if (readFileSync(file, 'utf8') !== text) problems.push(`${file} is out of date: run npm run generate`);
  }
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length > 0 ? 1 : 0;
}

main(process.argv.includes('--check'));
