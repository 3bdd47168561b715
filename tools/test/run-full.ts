// `npm run test:full`: the tier that `npm test` leaves out.
import { parseArgs } from 'node:util';
import { orUsage } from './command-line.js';
import { Progress, recordTurns } from './progress.js';
import { writeFullReport } from './report.js';
import { Session } from './session.js';
import { fitting, parseShard, shardOf } from './shards.js';
import { close, heading } from './steps.js';
import { begin } from './suite.js';
import { readTimings } from './timings.js';
import { testFiles } from './tiers.js';

const USAGE = `Usage: npm run test:full [-- options]

Runs the files of the second tier, and writes a dated report to docs/reports/. It goes on where it was broken off, for as long as the sources stay the
same: what was green is not run again.

  --minutes N      begins no file that would take longer
  --shard I/N      the I-th of N parts
  --help           show this`;
const { values } = orUsage(USAGE, () =>
  parseArgs({
    options: {
      minutes: { type: 'string' },
      shard: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  }),
);
const timings = readTimings();
const progress = new Progress('full');
const all = testFiles().flatMap(({ path, tier }) => (tier === 'full' ? [path] : []));
const mine = values.shard === undefined ? all : shardOf(all, parseShard(values.shard), timings);
const green = progress.green();
const left = mine.filter((path) => !green.has(path));
const files = values.minutes === undefined ? left : fitting(left, Number(values.minutes), timings);

if (files.length === 0) console.log(`all ${mine.length} files were green on these sources: nothing to run`);
else {
  const session = Session.create();
  try {
    await recordTurns(session, progress, files, () => begin(files, session)());
  } finally {
    session.remove();
  }
}
heading('the full tier');
const stillLeft = all.filter((path) => !progress.green().has(path));
console.log(
  `${all.length - stillLeft.length} of ${all.length} files were green on these sources; report: ${writeFullReport(all, progress)}`,
);
for (const path of stillLeft) console.log(`not green yet: ${path}`);
if (files.length > 0) close();
