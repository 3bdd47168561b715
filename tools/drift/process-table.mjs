// Processes and schemas of ours that the tables in docs/architecture.md do not have.
import { readFileSync } from 'node:fs';
import { SERVICE_NAMES } from '../../libs/contracts/services.ts';
import { trackedFiles } from './tracked-files.mjs';

const PAGE = 'docs/architecture.md';

/** One sentence for each app without a row, and for each row without an app. */
export function processesWithoutRow() {
  const apps = trackedFiles('apps/*/package.json').map((file) => file.split('/')[1]);
  if (apps.length === 0) return [];
  return differences('Processes', apps, 'apps/ as a folder');
}

/** The same of services and the table of schemas. */
export function schemasWithoutRow() {
  return differences('Postgres', SERVICE_NAMES, 'libs/contracts/services.ts as a service');
}

function differences(section, wanted, where) {
  const [, text = ''] = readFileSync(PAGE, 'utf8').split(`\n## ${section}\n`);
  const rows = [...text.split('\n## ')[0].matchAll(/^\| `([\w-]+)`/gm)].map(([, name]) => name);
  return [
    ...wanted
      .filter((name) => !rows.includes(name))
      .map((name) => `${PAGE}: its table of ${section} has no row for ${name}, which is in ${where}`),
    ...rows
      .filter((name) => !wanted.includes(name))
      .map((name) => `${PAGE}: its table of ${section} has ${name}, which is not in ${where}`),
  ];
}
