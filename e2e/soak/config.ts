import { parseArgs } from 'node:util';
import { parseShard, type Shard } from '@fairlead/suite/shards';
import { AREAS, type Area, type Titled } from './areas.js';

const listOf = ({ name, scenarios }: Area): string =>
  [`${name}:`, ...scenarios.map(({ letter, title }) => `  ${letter.padEnd(3)} ${title}`)].join('\n');
const names = AREAS.map(({ name }) => name).join(', ');
const DEFAULT_MINUTES = 45;
const MAX_MINUTES = 600;
/** Exit code of a run that ended in order before everything that was asked for had run. */
export const TO_BE_CONTINUED = 3;

export const USAGE = `Usage: npm run soak -- AREA [options]

Runs the scenarios of an area at full size against real processes on this machine's loopback, says what it measured, and
writes a report. Areas: ${names}. What ran to its end is kept in .fairlead-tests/ for as long as the sources stay the same: the
same command goes on where it was. It ends with 0 if everything held, 1 if not, ${TO_BE_CONTINUED} if some are left to run.

  --only a,e       only these scenarios; c means c1 to c4
  --scale N        sizes times N, 0.01 to 1 (default 1)
  --minutes N      the longest the whole run may take, 1 to ${MAX_MINUTES} (default ${DEFAULT_MINUTES})
  --shard I/N      the I-th of N parts
  --again          also those that did not hold before
  --report FILE    where the report goes (default docs/reports/<date>-AREA.md; of a part of the scenarios: nowhere)
  --logs FILE      if something does not hold, the last lines that the processes logged
  --help           show this

Scenarios of ${AREAS.map(listOf).join('\n')}
`;

/** What is wrong with the command line, for a person. */
export class UsageError extends Error {}

export interface Config {
  readonly help: boolean;
  readonly area: Area;
  /** That are asked for, by `--only`. */
  readonly scenarios: readonly Titled[];
  /** Of these, what this run is to do, by `--shard`. */
  readonly mine: readonly Titled[];
  readonly scale: number;
  readonly minutes: number;
  /** Runs what did not hold before anew. */
  readonly again: boolean;
  /** Undefined: the default place, or none. */
  readonly report: string | undefined;
  readonly logs: string | undefined;
  /** Every scenario at full size: what a report in the repository has to be of. */
  readonly full: boolean;
}

/** Reads the command line. Throws UsageError for what it does not know. */
export function loadConfig(args: readonly string[]): Config {
  const { values, positionals } = parse(args);
  const area = AREAS.find(({ name }) => name === positionals[0]) ?? AREAS[0];
  if (!area || (!values.help && (positionals.length !== 1 || positionals[0] !== area.name))) {
    throw new UsageError(`say what to soak: ${names}\n\n${USAGE}`);
  }
  const scale = numberIn('--scale', values.scale ?? '1', 0.01, 1);
  const scenarios = values.only === undefined ? area.scenarios : chosen(area, values.only);
  return {
    help: values.help ?? false,
    area,
    scenarios,
    mine: values.shard === undefined ? scenarios : dealt(scenarios, values.shard),
    scale,
    minutes: numberIn('--minutes', values.minutes ?? String(DEFAULT_MINUTES), 1, MAX_MINUTES),
    again: values.again ?? false,
    report: values.report,
    logs: values.logs,
    full: scale === 1 && scenarios.length === area.scenarios.length,
  };
}

function chosen(area: Area, only: string): readonly Titled[] {
  const letters = only.split(',').map((letter) => letter.trim());
  const matches = (letter: string, scenario: Titled): boolean =>
    scenario.letter === letter || scenario.letter.replace(/\d+$/, '') === letter;
  const unknown = letters.filter((letter) => !area.scenarios.some((scenario) => matches(letter, scenario)));
  if (unknown.length > 0) throw new UsageError(`there is no scenario ${unknown.join(', ')}:\n${listOf(area)}`);
  return area.scenarios.filter((scenario) => letters.some((letter) => matches(letter, scenario)));
}

/** Dealt like cards: those of a kind take about the same time. */
function dealt(scenarios: readonly Titled[], text: string): readonly Titled[] {
  const { index, count } = shardIn(text);
  return scenarios.filter((_, position) => position % count === index - 1);
}

function shardIn(text: string): Shard {
  try {
    return parseShard(text);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function numberIn(option: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= least && value <= most) return value;
  throw new UsageError(`${option} takes a number from ${least} to ${most}`);
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const options = {
    help: { type: 'boolean' },
    only: text,
    scale: text,
    minutes: text,
    shard: text,
    again: { type: 'boolean' },
    report: text,
    logs: text,
  } as const;
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: true });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${USAGE}`);
  }
}
