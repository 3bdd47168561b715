import type { StackEvent } from '@fairlead/stack';

const LINES = 20_000;

/** The last lines that the processes of a stack wrote, so that a fault can be explained after the processes are gone. */
export class Journal {
  readonly lines: string[] = [];

  readonly hear = (event: StackEvent): void => {
    if (event.kind !== 'line') return;
    this.lines.push(`${event.process} ${event.line}`);
    if (this.lines.length > LINES) this.lines.splice(0, LINES / 10);
  };
}
