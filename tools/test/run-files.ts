// `npm run test:files` and `npm run e2e`: chosen integration and e2e tests.
import { parseArgs } from 'node:util';
import { orUsage } from './command-line.js';
import { minutes, slowest, totalOf } from './measures.js';
import { Session } from './session.js';
import { close, heading } from './steps.js';
import { begin, saveTimings } from './suite.js';
import { testFiles } from './tiers.js';

const USAGE = `Usage: npm run test:files -- [options] PART-OF-A-PATH …
       npm run e2e [-- AREA …]

Runs chosen integration and e2e files of either tier, as npm test runs them. Areas are the folders in e2e/; without any, all of e2e.

  --save-timings   keeps how long they took, by which npm test plans (tools/test/timings.json)
  --help           show this`;
const { values, positionals } = orUsage(USAGE, () =>
  parseArgs({
    allowPositionals: true,
    options: {
      'save-timings': { type: 'boolean', default: false },
      e2e: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  }),
);
const wanted = values.e2e ? positionals.map((area) => `e2e/${area}/`) : positionals;
const known = testFiles()
  .map(({ path }) => path)
  .filter((path) => !values.e2e || path.startsWith('e2e/'));
const unknown = wanted.filter((part) => !known.some((path) => path.includes(part)));
if (unknown.length > 0) {
  console.error(`no test file has this in its path: ${unknown.join(', ')}. Areas of e2e are the folders in e2e/.`);
  process.exitCode = 2;
} else {
  const files = known.filter((path) => wanted.length === 0 || wanted.some((part) => path.includes(part)));
  const session = Session.create();
  try {
    const outcome = await begin(files, session)();
    if (values['save-timings']) saveTimings(outcome);
    heading('what it took');
    console.log(slowest(outcome.measures));
    console.log(`\nCPU ${minutes(totalOf(outcome.measures).cpuS)}`);
  } finally {
    session.remove();
  }
  close();
}
