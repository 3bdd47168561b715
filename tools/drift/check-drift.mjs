// Fails when something generated is not what its source would generate now, a document points to what is not there, or
// a test names a tier that there is not.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tierProblems } from '../test/tiers.ts';
import { staleChartTable } from './chart-table.mjs';
import { deadLinks } from './dead-links.mjs';
import { deadNames } from './dead-names.mjs';
import { decisionsWithoutStatus } from './decision-status.mjs';
import { processesWithoutRow, schemasWithoutRow, servicesUnnamed } from './process-table.mjs';
import { staleSettings } from './settings-page.mjs';
import { unwatchable } from './watched-metrics.mjs';

const problems = [];

function run(command, ...args) {
  execFileSync(command, args, { stdio: 'inherit' });
}

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

/** libs/proto/gen from the .proto files: lint, then generate a copy and compare. */
function checkProto() {
  const scratch = mkdtempSync(join(tmpdir(), 'fairlead-drift-'));
  try {
    run('buf', 'lint', 'libs/proto');
    cpSync('libs/proto', scratch, { recursive: true, filter: (path) => !/\/(dist|gen|node_modules)$/.test(path) });
    run('buf', 'generate', scratch, '--template', 'libs/proto/buf.gen.yaml', '-o', scratch);
    const [fresh, present] = [join(scratch, 'gen'), 'libs/proto/gen'];
    const names = new Set([...filesBelow(fresh), ...filesBelow(present)]);
    for (const name of names) {
      const same = [fresh, present].map((folder) => {
        try {
          return readFileSync(join(folder, name), 'utf8');
        } catch {
          return null;
        }
      });
      if (same[0] !== same[1]) problems.push(`libs/proto/gen/${name} is out of date: run npm run generate`);
    }
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

checkProto();
/** A document and its page in docs/, from libs, which are TypeScript that imports other packages. The program says itself what is wrong. */
function checkDescription(program, complaint) {
  const fromSource = ['--conditions=fairlead-source', '--import', './tools/testbed/fixtures/from-source.mjs'];
  try {
    run(process.execPath, ...fromSource, program, '--check');
  } catch {
    problems.push(complaint);
  }
}

checkDescription(
  'tools/drift/event-catalogue.mjs',
  'the published description of events is not what libs/events gives',
);
checkDescription(
  'tools/drift/audit-records.mjs',
  'the published description of records of the audit log is not what libs/contracts gives',
);
try {
  run(process.execPath, 'tools/drift/sync-references.mjs', '--check');
} catch {
  problems.push('tsconfig references are out of date: run node tools/drift/sync-references.mjs');
}
problems.push(
  ...deadLinks(),
  ...deadNames(),
  ...decisionsWithoutStatus(),
  ...processesWithoutRow(),
  ...schemasWithoutRow(),
  ...servicesUnnamed(),
  ...staleSettings(),
  ...staleChartTable(),
  ...tierProblems(),
  ...unwatchable(),
);
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
