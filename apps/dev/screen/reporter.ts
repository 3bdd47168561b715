import { assertNever } from '@fairlead/errors';
import type { StackEvent } from '@fairlead/stack';
import type { Paint, Terminal } from './terminal.js';
import { formatLogLine, parseLogLine } from './log-line.js';

interface ReporterOptions {
  readonly terminal: Terminal;
  readonly paint: Paint;
  /** Every line instead of warnings and errors. */
  readonly verbose: boolean;
}

/** Shows what happens in the stack: progress until it is ready, then what starts, ends or goes wrong. */
export class Reporter {
  #phase: 'booting' | 'ready' | 'stopping' = 'booting';

  constructor(private readonly options: ReporterOptions) {}

  ready(): void {
    this.#phase = 'ready';
    this.options.terminal.settle();
  }

  /** From now on warnings are the sound of parts that miss each other; the logs still have them. */
  stopping(): void {
    this.#phase = 'stopping';
    this.options.terminal.settle();
    this.options.terminal.print('stopping');
  }

  readonly show = (event: StackEvent): void => {
    const { terminal, verbose } = this.options;
    switch (event.kind) {
      case 'progress':
        if (this.#phase === 'ready') terminal.print(`- ${event.text}`);
        else terminal.progress(event.text);
        return;
      case 'line':
        this.#line(event.process, event.line);
        return;
      case 'running':
        if (this.#phase === 'ready' || verbose) this.#say(event.process, 'green', `runs${pidText(event.pid)}`);
        return;
      case 'died':
        if (this.#phase === 'ready') this.#say(event.process, 'red', `ended: ${event.how}`);
        return;
      case 'restarting':
        this.#say(event.process, 'yellow', `is started again in ${(event.delayMs / 1_000).toFixed(1)} s`);
        return;
      default:
        assertNever(event);
    }
  };

  #line(name: string, text: string): void {
    const line = parseLogLine(text);
    const loud = this.#phase !== 'stopping' && (line.severity === 'warn' || line.severity === 'error');
    if (loud || this.options.verbose) this.options.terminal.print(formatLogLine(name, line, this.options.paint));
  }

  #say(name: string, colour: 'green' | 'red' | 'yellow', what: string): void {
    const { terminal, paint } = this.options;
    terminal.print(`${paint('bold', name)} ${paint(colour, what)}`);
  }
}

function pidText(pid: number | undefined): string {
  return pid === undefined ? '' : ` (pid ${pid})`;
}
