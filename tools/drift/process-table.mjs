// Processes and schemas of ours that the tables in docs/architecture.md do not have, and services that other pages do not name.
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

/** Pages that say which services there are. */
const LISTS = [
  'README.md',
  'CONTRIBUTING.md',
  'docs/compose.md',
  'docs/glossary.md',
  'docs/images.md',
  'docs/security.md',
];

/** One sentence for each of these pages that does not name a service. */
export function servicesUnnamed() {
  return LISTS.flatMap((page) => {
    const words = new Set(readFileSync(page, 'utf8').match(/[\w-]+/g));
    return SERVICE_NAMES.filter((name) => !words.has(name)).map(
      (name) => `${page}: does not name the service ${name}, which is in libs/contracts/services.ts`,
    );
  });
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
