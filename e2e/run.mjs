// `npm run e2e [-- <area> …]`: user stories against real processes. Areas are the folders beside this file.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { close, vitest } from '../tools/test/steps.mjs';

const areas = process.argv.slice(2);
const known = readdirSync(import.meta.dirname, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && existsSync(join(import.meta.dirname, entry.name, 'README.md')))
  .map((entry) => entry.name);
const unknown = areas.filter((area) => !known.includes(area));
if (unknown.length > 0) {
  console.error(`no such area: ${unknown.join(', ')}. Areas: ${known.join(', ')}`);
  process.exitCode = 2;
} else {
  await vitest(
    'e2e',
    areas.map((area) => `e2e/${area}/`),
  );
  close();
}
