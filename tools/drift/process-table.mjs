// Processes of ours that the table in docs/architecture.md does not have.
import { readFileSync } from 'node:fs';
import { trackedFiles } from './tracked-files.mjs';

const PAGE = 'docs/architecture.md';

/** One sentence for each app without a row, and for each row without an app. */
export function processesWithoutRow() {
  const apps = trackedFiles('apps/*/package.json').map((file) => file.split('/')[1]);
  if (apps.length === 0) return [];
  const [, section = ''] = readFileSync(PAGE, 'utf8').split('\n## Processes\n');
  const [table] = section.split('\n## ');
  const rows = [...table.matchAll(/^\| `([\w-]+)`/gm)].map(([, name]) => name);
  return [
    ...apps
      .filter((app) => !rows.includes(app))
      .map((app) => `${PAGE}: its table of processes has no row for apps/${app}`),
    ...rows
      .filter((row) => !apps.includes(row))
      .map((row) => `${PAGE}: its table of processes has ${row}, and apps/ does not`),
  ];
}
