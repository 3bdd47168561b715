// Decision records without a status, or that the index does not list.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { trackedFiles } from './tracked-files.mjs';

const FOLDER = 'docs/adr';
const STATUS = /^Status: (accepted|replaced by \[\d+\]\(\d{4}-[\w-]+\.md\))\.$/;

/** One sentence for each. */
export function decisionsWithoutStatus() {
  const index = trackedFiles(`${FOLDER}/README.md`)
    .map((file) => readFileSync(file, 'utf8'))
    .join('');
  return trackedFiles(`${FOLDER}/[0-9]*.md`).flatMap((file) => {
    const [, , status] = readFileSync(file, 'utf8').split('\n');
    return [
      ...(STATUS.test(status ?? '')
        ? []
        : [`${file}: its third line has to be "Status: accepted." or "Status: replaced by [number](file)."`]),
      ...(index.includes(`](${basename(file)})`) ? [] : [`${FOLDER}/README.md does not list ${basename(file)}`]),
    ];
  });
}
