import { judge, type Verdict } from '../musts.js';
import { ROWS, SYSTEMS, type Row, type RowName, type SystemName } from '../rows.js';
import { ratioOf, type ResultRow } from './results.js';
import { spread } from './statistics.js';

/** What is divided by what. */
const RATIOS: readonly (readonly [SystemName, SystemName])[] = [
  ['fairlead', 'konnectivity'],
  ['fairlead', 'relay-go-tls'],
  ['fairlead', 'kubectl-proxy'],
  ['fairlead', 'reverse-proxy-go'],
  ['fairlead-relayed', 'fairlead'],
  ['audit-best-effort', 'audit-off'],
  ['audit-required', 'audit-off'],
];
const NOTHING = '-';

type Line = readonly string[];
/** A heading and lines, the first of which names the columns. */
export interface Table {
  readonly title: string;
  readonly lines: readonly Line[];
}

/** Medians, their ratios, and whether each must holds. */
function tablesOf(results: readonly ResultRow[]): Table[] {
  const systems = SYSTEMS.filter((system) => results.some((result) => result.system === system));
  const ratios = RATIOS.filter((pair) => pair.every((system) => systems.includes(system)));
  const musts = judge(results).filter(({ must }) => systems.includes(must.system));
  const tables = [
    { title: 'Medians of the runs (±: the run furthest from it)', lines: medians(results, systems) },
    { title: 'Ratios', lines: ratioLines(results, ratios) },
    { title: 'What must hold', lines: [['row', 'system', 'must', 'measured', ''], ...musts.map(verdictLine)] },
  ];
  return tables.filter(({ lines }) => lines.length > 1 && (lines[0]?.length ?? 0) > 2);
}

/** A line for each row and system in which something failed or that was not measured. */
function notesOf(results: readonly ResultRow[]): string[] {
  return results.flatMap(({ row, system, failed, unmeasured }) => [
    ...(failed ? [`${row}, ${system}: ${failed.count} of ${failed.of} failed: ${failed.reason}`] : []),
    ...(unmeasured === undefined ? [] : [`${row}, ${system}: not measured: ${unmeasured}`]),
  ]);
}

/** For a terminal. */
export function formatText(results: readonly ResultRow[]): string {
  const tables = tablesOf(results).flatMap(({ title, lines }) => [title, alignColumns(lines)]);
  return [...tables, ...listed(notesOf(results))].join('\n\n');
}

/** For docs/benchmarks.md. */
export function formatMarkdown(results: readonly ResultRow[]): string {
  const tables = tablesOf(results).flatMap(({ title, lines: [head = [], ...rest] }) => {
    const cells = (line: Line): string => `| ${line.join(' | ')} |`;
    return [`**${title}**`, [cells(head), cells(head.map(() => '---')), ...rest.map(cells)].join('\n')];
  });
  return [...tables, ...listed(notesOf(results).map((note) => `- ${note.replaceAll('\n', ' ')}`))].join('\n\n');
}

const listed = (lines: readonly string[]): string[] => (lines.length === 0 ? [] : [lines.join('\n')]);

function medians(results: readonly ResultRow[], systems: readonly SystemName[]): Line[] {
  const lines = rowsIn(results).map((row) => [
    row,
    results.find((result) => result.row === row)?.unit ?? '',
    ...systems.map((system) => cellOf(find(results, row, system))),
  ]);
  return [['row', 'unit', ...systems], ...lines];
}

function cellOf(result: ResultRow | undefined): string {
  if (!result) return NOTHING;
  const failed = result.failed ? `${result.failed.count} of ${result.failed.of} failed` : '';
  if (result.median === null) return failed === '' ? 'not measured' : failed;
  const deviation = spread(result.runs);
  const value = `${formatFigure(result.median)}${deviation === null ? '' : ` ±${Math.round(deviation * 100)}%`}`;
  return failed === '' ? value : `${value} (${failed})`;
}

function ratioLines(results: readonly ResultRow[], ratios: typeof RATIOS): Line[] {
  const lines = rowsIn(results).map((row) => [
    row,
    `${(ROWS[row] as Row).better} is better`,
    ...ratios.map(([dividend, divisor]) => ratio(find(results, row, dividend), find(results, row, divisor))),
  ]);
  const head = ['row', '', ...ratios.map((pair) => pair.join(' ÷ '))];
  return [head, ...lines.filter((line) => line.slice(2).some((cell) => cell !== NOTHING))];
}

function ratio(dividend: ResultRow | undefined, divisor: ResultRow | undefined): string {
  const times = ratioOf(dividend, divisor);
  return times === null ? NOTHING : `${times.toFixed(2)} ×`;
}

function verdictLine({ must, rule, measured, holds }: Verdict): Line {
  const word = holds === null ? 'unknown' : holds ? 'ok' : 'NOT MET';
  return [must.row, must.system, `must ${rule}`, measured === null ? NOTHING : formatFigure(measured), word];
}

/** Three digits that count, or all of those before the point. */
export function formatFigure(value: number): string {
  if (value >= 100 || Number.isInteger(value)) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function rowsIn(results: readonly ResultRow[]): RowName[] {
  return [...new Set(results.map(({ row }) => row))];
}

function find(results: readonly ResultRow[], row: RowName, system: SystemName): ResultRow | undefined {
  return results.find((result) => result.row === row && result.system === system);
}

function alignColumns(lines: readonly Line[]): string {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const pad = (cell: string, column: number): string =>
    column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  const text = (line: Line): string => line.map(pad).join('  ').trimEnd();
  return lines.map(text).join('\n');
}
