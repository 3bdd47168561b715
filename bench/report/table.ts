import { ROWS, SYSTEMS, type RowName, type SystemName } from '../rows.js';
import type { ResultRow } from './results.js';
import { spread } from './statistics.js';

/** What is divided by what. */
const RATIOS: readonly (readonly [SystemName, SystemName])[] = [
  ['fairlead', 'direct'],
  ['fairlead', 'relay-node'],
  ['fairlead', 'relay-go'],
  ['fairlead-relayed', 'fairlead'],
];
const NOTHING = '-';

/** Two tables, medians and their ratios, and a line for each row and system in which something failed. */
export function formatTables(results: readonly ResultRow[]): string {
  const parts = [
    'Medians of the runs (±: the run furthest from it)',
    mediansTable(results),
    'Ratios',
    ratiosTable(results),
    ...failures(results),
  ];
  return parts.join('\n\n');
}

function mediansTable(results: readonly ResultRow[]): string {
  const lines = rowsIn(results).map((row) => [
    row,
    ROWS[row].unit,
    ...SYSTEMS.map((system) => cellOf(find(results, row, system))),
  ]);
  return alignColumns([['row', 'unit', ...SYSTEMS], ...lines]);
}

function cellOf(result: ResultRow | undefined): string {
  if (!result) return NOTHING;
  const failed = result.failed ? `${result.failed.count} of ${result.failed.of} failed` : '';
  if (result.median === null) return failed;
  const deviation = spread(result.runs);
  const value = `${formatFigure(result.median)}${deviation === null ? '' : ` ±${Math.round(deviation * 100)}%`}`;
  return failed === '' ? value : `${value} (${failed})`;
}

function ratiosTable(results: readonly ResultRow[]): string {
  const lines = rowsIn(results).map((row) => [
    row,
    `${ROWS[row].better} is better`,
    ...RATIOS.map(([dividend, divisor]) => ratio(find(results, row, dividend), find(results, row, divisor))),
  ]);
  return alignColumns([['row', '', ...RATIOS.map((pair) => pair.join(' ÷ '))], ...lines]);
}

function ratio(dividend: ResultRow | undefined, divisor: ResultRow | undefined): string {
  const [above, below] = [dividend?.median ?? null, divisor?.median ?? null];
  return above === null || below === null || below === 0 ? NOTHING : `${(above / below).toFixed(2)} ×`;
}

function failures(results: readonly ResultRow[]): string[] {
  const lines = results.flatMap(({ row, system, failed }) =>
    failed ? [`${row}, ${system}: ${failed.count} of ${failed.of} failed: ${failed.reason}`] : [],
  );
  return lines.length === 0 ? [] : [lines.join('\n')];
}

/** Three digits that count, or all of those before the point. */
export function formatFigure(value: number): string {
  if (value >= 100) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function rowsIn(results: readonly ResultRow[]): RowName[] {
  return [...new Set(results.map(({ row }) => row))];
}

function find(results: readonly ResultRow[], row: RowName, system: SystemName): ResultRow | undefined {
  return results.find((result) => result.row === row && result.system === system);
}

function alignColumns(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const pad = (cell: string, column: number): string =>
    column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return lines
    .map((line) =>
      line
        .map((cell, column) => pad(cell, column))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
