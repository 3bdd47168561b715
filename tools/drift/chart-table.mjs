// Writes charts/fairlead/files/services.json from the table of services and the settings in apps/*/config.ts, or tells whether it is what they would give.
// `node tools/drift/chart-table.mjs` writes it. What the chart makes of it, tools/stack/chart/chart.int.spec.ts looks at.
import { readFileSync, writeFileSync } from 'node:fs';
import { POD_HEALTH_PORT, SERVICES } from '../../libs/contracts/services.ts';
import { settingNames } from './settings-page.mjs';

const FILE = 'charts/fairlead/files/services.json';

/** One sentence if the file is out of date. Without git nothing is looked at. */
export function staleChartTable() {
  const fresh = chartTable();
  return fresh === null || readFileSync(FILE, 'utf8') === fresh ? [] : [`${FILE} is out of date: run npm run generate`];
}

function chartTable() {
  const rows = Object.entries(SERVICES).map(([role, { tier, listens, secrets }]) => [
    role,
    { tier, listens, secrets, settings: settingNames(role) },
  ]);
  if (rows.some(([, { settings }]) => settings === null)) return null;
  return `${JSON.stringify({ healthPort: POD_HEALTH_PORT, services: Object.fromEntries(rows) }, null, 2)}\n`;
}

if (process.argv[1]?.endsWith('chart-table.mjs')) {
  const fresh = chartTable();
  if (fresh === null) throw new Error(`${FILE} is made of tracked files, and git tells of none here`);
  writeFileSync(FILE, fresh);
}
