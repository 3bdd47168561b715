import type { Finding } from '@fairlead/agent/preflight';
import { oneLine } from '@fairlead/errors';

/** A finding for people, with its line end. What was seen may be foreign words: they are kept to their line. */
export function findingLine({ ok, check, subject, detail, remedy }: Finding): string {
  const text = `${ok ? 'ok  ' : 'FAIL'}  ${check.padEnd(10)}  ${oneLine(subject)}: ${oneLine(detail)}\n`;
  return remedy === undefined ? text : `${text}      ${'what to do'.padEnd(10)}  ${oneLine(remedy)}\n`;
}
