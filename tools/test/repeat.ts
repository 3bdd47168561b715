// `npm run test:repeat`: finds what is red by chance.
import { parseArgs } from 'node:util';
import { orUsage } from './command-line.js';
import { Progress, recordTurns } from './progress.js';
import { Session } from './session.js';
import { fitting, parseShard, shardOf } from './shards.js';
import { heading } from './steps.js';
import { computeBeside, Stress } from './stress.js';
import { begin } from './suite.js';
import { readTimings } from './timings.js';
import { testFiles } from './tiers.js';

const USAGE = `Usage: npm run test:repeat -- [options] [part of a path …]

Runs integration and e2e files again and again, and lists what was not green each time. It goes on where it was broken off, for as long as the
sources stay the same; .fairlead-tests/ holds what it knows.

  --times N        how often each file (default 5)
  --stress         computes beside the tests, and stops single processes of theirs for a moment
  --tier TIER      ordinary, full or all (default ordinary)
  --minutes N      begins no file that would take longer
  --shard I/N      the I-th of N parts
  --help           show this`;
const { values, positionals } = orUsage(USAGE, () =>
  parseArgs({
    allowPositionals: true,
    options: {
      times: { type: 'string', default: '5' },
      stress: { type: 'boolean', default: false },
      tier: { type: 'string', default: 'ordinary' },
      minutes: { type: 'string' },
      shard: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  }),
);
const times = Number(values.times);
const timings = readTimings();
const progress = new Progress(values.stress ? 'repeat-stress' : 'repeat');
const files = chosenFiles();
const until = performance.now() + Number(values.minutes ?? Infinity) * 60_000;

const calm = values.stress ? computeBeside() : undefined;
try {
  for (let round = filesOfRound(); round.length > 0; round = filesOfRound()) await runRound(round);
} finally {
  calm?.();
}
tellOutcome();

function chosenFiles(): string[] {
  const paths = testFiles()
    .filter(({ tier }) => values.tier === 'all' || tier === values.tier)
    .map(({ path }) => path)
    .filter((path) => positionals.length === 0 || positionals.some((part) => path.includes(part)));
  return values.shard === undefined ? paths : shardOf(paths, parseShard(values.shard), timings);
}

/** The files that ran least often, as many as fit into what is left of the time. */
function filesOfRound(): string[] {
  const counts = progress.times();
  const due = files.filter((file) => (counts.get(file) ?? 0) < times);
  const least = Math.min(...due.map((file) => counts.get(file) ?? 0));
  const round = due.filter((file) => (counts.get(file) ?? 0) === least);
  const leftMs = until - performance.now();
  if (leftMs <= 0) return [];
  return Number.isFinite(leftMs) && round.length > 0 ? fitting(round, leftMs / 60_000, timings) : round;
}

async function runRound(round: readonly string[]): Promise<void> {
  const session = Session.create();
  try {
    const env = values.stress ? Stress.environment : {};
    await recordTurns(session, progress, round, () => begin(round, session)(env));
  } finally {
    session.remove();
  }
}

function tellOutcome(): void {
  heading(`${times} times${values.stress ? ' under stress' : ''}`);
  const turns = progress.turns().filter(({ path }) => files.includes(path));
  const counts = progress.times();
  const left = files.filter((file) => (counts.get(file) ?? 0) < times);
  for (const file of files) {
    const own = turns.filter(({ path }) => path === file);
    const red = own.filter(({ green }) => !green);
    if (red.length > 0)
      console.log(`not green ${red.length} of ${own.length} times: ${file}\n${red.map(told).join('\n')}`);
  }
  console.log(`${files.length - left.length} of ${files.length} files ran ${times} times; ${left.length} are left`);
  const red = turns.filter(({ green }) => !green).length;
  console.log(`\n${turns.length - red} passed, ${red} failed`);
  // What is left is for the next call.
  process.exitCode = red > 0 ? 1 : 0;
}

function told({ failures }: { readonly failures: readonly string[] }): string {
  return failures.map((failure) => `    ${failure.split('\n').slice(0, 3).join('\n    ')}`).join('\n');
}
