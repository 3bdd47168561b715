import { z } from 'zod';
import type { Colour, Paint } from './terminal.js';

type Severity = 'debug' | 'info' | 'warn' | 'error';

/** A line of a child's log, understood as far as it can be. */
interface LogLine {
  readonly severity: Severity;
  /** `event key=value …` of our own JSON lines, any other line as it is. */
  readonly text: string;
  readonly time: string | undefined;
}

const OurLine = z.looseObject({
  level: z.enum(['debug', 'info', 'warn', 'error']),
  time: z.string(),
  event: z.string(),
});
const COLOURS: Record<Severity, Colour> = { debug: 'dim', info: 'cyan', warn: 'yellow', error: 'red' };
const NAME_WIDTH = 12;

/** A line that is not one of ours counts as a warning: our processes write nothing else unless something is wrong. */
export function parseLogLine(line: string): LogLine {
  const parsed = OurLine.safeParse(tryJson(line));
  if (!parsed.success) return { severity: 'warn', text: line, time: undefined };
  const { level, time, event, service: _service, pid: _pid, hostname: _hostname, ...fields } = parsed.data;
  const shown = Object.entries(fields).map(([key, value]) => `${key}=${showValue(value)}`);
  return { severity: level, text: [event, ...shown].join(' '), time: time.slice(11, 19) };
}

/** As it stands on the screen, with the name of the process in front. */
export function formatLogLine(name: string, line: LogLine, paint: Paint): string {
  const label = paint(COLOURS[line.severity], line.severity.padEnd(5));
  return `${paint('dim', line.time ?? ' '.repeat(8))} ${paint('bold', name.padEnd(NAME_WIDTH))} ${label} ${line.text}`;
}

function showValue(value: unknown): string {
  if (typeof value === 'string') return /[\s"=]/.test(value) ? JSON.stringify(value) : value;
  if (typeof value === 'object' && value !== null && 'message' in value) return JSON.stringify(value.message);
  return JSON.stringify(value);
}

function tryJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
