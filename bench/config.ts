import { parseArgs } from 'node:util';
import { FairleadError, messageOf } from '@fairlead/errors';
import { ROWS, isRowName, type RowName } from './rows.js';

export const USAGE = `Usage: npm run bench [-- options]

Measures Fairlead's data path beside a direct connection and plain TCP relays, all in one run on this machine's loopback.

  --quick        less of everything: under a minute, for work in progress (the full run takes up to six)
  --row NAME     only this row; may be given more than once
  --runs N       measure everything N times, 1 to 20 (default 5; with --quick 2)
  --json FILE    also write [{row, system, unit, runs, median}] to FILE
  --help         show this

Rows: ${Object.keys(ROWS).join(', ')}

Needs Go on PATH: the load generator, the server and one of the relays are Go programs.
`;

export interface Config {
  readonly help: boolean;
  readonly quick: boolean;
  readonly rows: readonly RowName[];
  readonly runs: number;
  readonly jsonFile: string | undefined;
}

const MAX_RUNS = 20;

/** Reads the command line. Throws INVALID_ARGUMENT for what it does not know. */
export function loadConfig(args: readonly string[]): Config {
  const values = parse(args);
  const quick = values.quick ?? false;
  const runs = Number(values.runs ?? (quick ? 2 : 5));
  if (!Number.isInteger(runs) || runs < 1 || runs > MAX_RUNS) {
    throw new FairleadError('INVALID_ARGUMENT', `--runs takes a number from 1 to ${MAX_RUNS}`);
  }
  const rows = values.row?.map((name) => rowNamed(name)) ?? (Object.keys(ROWS) as RowName[]);
  return { help: values.help ?? false, quick, rows, runs, jsonFile: values.json };
}

function rowNamed(name: string): RowName {
  if (isRowName(name)) return name;
  throw new FairleadError('INVALID_ARGUMENT', `there is no row ${name}; there are ${Object.keys(ROWS).join(', ')}`);
}

function parse(args: readonly string[]) {
  try {
    const flag = { type: 'boolean' } as const;
    const text = { type: 'string' } as const;
    const options = { help: flag, quick: flag, row: { ...text, multiple: true as const }, runs: text, json: text };
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    throw new FairleadError('INVALID_ARGUMENT', `${messageOf(error)}\n\n${USAGE}`);
  }
}
