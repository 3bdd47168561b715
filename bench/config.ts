import { parseArgs } from 'node:util';
import { FairleadError, messageOf } from '@fairlead/errors';
import { INSIDE } from './process/own-namespace.js';
import {
  AREAS,
  AREA_NAMES,
  isAreaName,
  isRowName,
  isSystemName,
  type AreaName,
  type RowName,
  type SystemName,
} from './rows.js';

export const USAGE = `Usage: npm run bench [-- options]

Measures Fairlead's data path beside a direct connection, relays and Konnectivity, all in one run on this machine; or, as the area api-door,
its Kubernetes API door beside kubectl proxy and Go's reverse proxy; or, as the area audit, what the audit costs a gateway and all behind it.

  --area NAME      what is measured: ${AREA_NAMES.join(', ')} (default tunnel)
  --quick          less of everything, for work in progress
  --row NAME       only this row; may be given more than once
  --system NAME    only this system; may be given more than once
  --runs N         measure everything N times, 1 to 20 (default 5, of the area audit 10; with --quick 2)
  --rows MILLIONS  of the area audit: fill a log of so many million entries instead, 0.1 to 100, and ask it; takes 3 GB for each
  --json FILE      also write [{row, system, unit, runs, median}] to FILE
  --markdown FILE  also write the tables to FILE, for docs/benchmarks.md
  --fresh          do not go on with what an earlier run left
  --help           show this

A run that is cut off goes on where it was when the same command is given within two hours and nothing was compiled anew
meanwhile: its state is kept in bench/bin/run-*.json.

${AREA_NAMES.map((area) => `Rows of ${area}: ${AREAS[area].rows.join(', ')}\nSystems of ${area}: ${AREAS[area].systems.join(', ')}`).join('\n')}

The rows with 50 ms in their names (wan) need Linux and the right to make network namespaces and TUN devices; everything then
runs in two namespaces of its own. Needs Go on PATH: the load generator, the target and some of the systems are Go programs.
`;

export interface Config {
  readonly help: boolean;
  readonly quick: boolean;
  readonly area: AreaName;
  readonly rows: readonly RowName[];
  readonly systems: readonly SystemName[];
  readonly runs: number;
  /** Entries of a log that is filled and asked; undefined: that is not measured. */
  readonly millions: number | undefined;
  readonly jsonFile: string | undefined;
  readonly markdownFile: string | undefined;
  readonly fresh: boolean;
  /** Not for people: this process runs in a network namespace of its own. */
  readonly inside: boolean;
}

const MAX_RUNS = 20;

/** Reads the command line. Throws INVALID_ARGUMENT for what it does not know. */
export function loadConfig(args: readonly string[]): Config {
  const values = parse(args);
  const quick = values.quick ?? false;
  const runs = Number(values.runs ?? (quick ? 2 : values.area === 'audit' ? 10 : 5));
  if (!Number.isInteger(runs) || runs < 1 || runs > MAX_RUNS) {
    throw new FairleadError('INVALID_ARGUMENT', `--runs takes a number from 1 to ${MAX_RUNS}`);
  }
  const area = values.area ?? 'tunnel';
  if (!isAreaName(area)) {
    throw new FairleadError('INVALID_ARGUMENT', `there is no area ${area}; there are ${AREA_NAMES.join(', ')}`);
  }
  const millions = values.rows === undefined ? undefined : millionsIn(area, values.rows);
  const { rows, systems }: (typeof AREAS)[AreaName] = AREAS[area];
  return {
    help: values.help ?? false,
    quick,
    area,
    rows: chosen('row', values.row, isRowName, rows),
    systems: chosen('system', values.system, isSystemName, systems),
    runs,
    millions,
    jsonFile: values.json,
    markdownFile: values.markdown,
    fresh: values.fresh ?? false,
    inside: values[INSIDE] ?? false,
  };
}

function millionsIn(area: AreaName, text: string): number {
  const millions = Number(text);
  if (area === 'audit' && millions >= 0.1 && millions <= 100) return millions;
  throw new FairleadError('INVALID_ARGUMENT', '--rows takes millions, 0.1 to 100, and is of the area audit alone');
}

function chosen<T extends string>(
  what: string,
  names: readonly string[] | undefined,
  isOne: (name: string) => name is T,
  all: readonly T[],
): readonly T[] {
  const unknown = names?.find((name) => !isOne(name) || !all.includes(name));
  if (unknown !== undefined) {
    throw new FairleadError('INVALID_ARGUMENT', `there is no ${what} ${unknown}; there are ${all.join(', ')}`);
  }
  return names === undefined ? all : all.filter((name) => names.includes(name));
}

function parse(args: readonly string[]) {
  try {
    const flag = { type: 'boolean' } as const;
    const text = { type: 'string' } as const;
    const several = { ...text, multiple: true as const };
    const options = {
      help: flag,
      quick: flag,
      fresh: flag,
      [INSIDE]: flag,
      area: text,
      row: several,
      rows: text,
      system: several,
      runs: text,
      json: text,
      markdown: text,
    };
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    throw new FairleadError('INVALID_ARGUMENT', `${messageOf(error)}\n\n${USAGE}`);
  }
}
