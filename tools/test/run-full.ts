// `npm run test:full`: the tier that `npm test` leaves out. A run that was broken off goes on where it was: what was green on these
// sources is not run again. `--minutes N` runs about so much of it, `--shard i/n` a part. Writes docs/reports/<date>-full.md.
import { parseArgs } from 'node:util';
import { Progress, recordTurns } from './progress.js';
import { writeFullReport } from './report.js';
import { Session } from './session.js';
import { fitting, parseShard, shardOf } from './shards.js';
import { close, heading } from './steps.js';
import { begin } from './suite.js';
import { readTimings } from './timings.js';
import { testFiles } from './tiers.js';

const { values } = parseArgs({ options: { minutes: { type: 'string' }, shard: { type: 'string' } } });
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
