import type { AuditEntry } from '@fairlead/contracts';
import { stringify } from 'csv-stringify/sync';
import { SAID_COLUMNS, saidOf } from './said-columns.js';

/** At the end of an export, and nowhere else. */
export interface ExportTrailer {
  readonly complete: true;
  /** Entries before it. */
  readonly count: number;
  /** All up to this number was looked at. */
  readonly through: number;
}

/** How entries are written one after another. No line break is in a row. */
export interface ExportFormat {
  readonly mediaType: string;
  readonly extension: string;
  readonly header: string;
  rows(entries: readonly AuditEntry[]): string;
  trailer(trailer: ExportTrailer): string;
}

const COLUMNS = ['number', 'at', 'recordedAt', 'kind', 'source', 'user', 'cluster', 'action', 'decision'] as const;

const line = (value: unknown): string => `${JSON.stringify(value)}\n`;

export const EXPORT_FORMATS = {
  /** https://github.com/ndjson/ndjson-spec */
  ndjson: {
    mediaType: 'application/x-ndjson',
    extension: 'ndjson',
    header: '',
    rows: (entries) => entries.map(line).join(''),
    trailer: line,
  },
  /** RFC 4180, with a heading. The trailer is a row whose first cell is `complete`. */
  csv: {
    mediaType: 'text/csv',
    extension: 'csv',
    header: csv([[...COLUMNS, ...SAID_COLUMNS, 'body']]),
    rows: (entries) => csv(entries.map(rowOf)),
    trailer: ({ count, through }) =>
      csv([['complete', count, through, ...[...COLUMNS, ...SAID_COLUMNS, 'body'].slice(3).map(() => '')]]),
  },
} as const satisfies Record<string, ExportFormat>;

export type ExportFormatName = keyof typeof EXPORT_FORMATS;

/** What is asked for by name, or else what `Accept` names first of those there are (RFC 9110, 12.5.1, without weights). */
export function exportFormat(named: ExportFormatName | undefined, accept: string | undefined): ExportFormat {
  if (named) return EXPORT_FORMATS[named];
  const wanted = (accept ?? '').split(',').map((item) => item.split(';', 1)[0]?.trim().toLowerCase());
  const formats: readonly ExportFormat[] = Object.values(EXPORT_FORMATS);
  const found = wanted.flatMap((mediaType) => formats.filter((format) => format.mediaType === mediaType));
  return found[0] ?? EXPORT_FORMATS.ndjson;
}

/**
 * A text that a spreadsheet would take for a formula begins with an apostrophe then (https://owasp.org/www-community/attacks/CSV_Injection). What is in the audit log was partly written by
 * whoever is in it.
 */
function csv(rows: readonly (readonly (string | number)[])[]): string {
  return stringify(rows as (string | number)[][], { escape_formulas: true });
}

function rowOf(entry: AuditEntry): (string | number)[] {
  const { body } = entry;
  const said = saidOf(body ?? {});
  const cells = [...COLUMNS.map((column) => entry[column]), ...SAID_COLUMNS.map((column) => said[column])];
  return [...cells.map(cellOf), body === null ? '' : JSON.stringify(body)];
}

function cellOf(value: string | number): string | number {
  return typeof value === 'number' ? value : value.replaceAll(/\p{Cc}/gu, ' ');
}
