const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
export type Colour = keyof typeof CODES;
export type Paint = (colour: Colour, text: string) => string;

/** Colours a text, or leaves it as it is where nobody could see them. */
export function painter(enabled: boolean): Paint {
  return enabled ? (colour, text) => `\u001B[${CODES[colour]}m${text}\u001B[0m` : (_colour, text) => text;
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 120;
const CLEAR_LINE = '\r\u001B[K';

/** Lines, and at most one moving line below them where a person watches. */
export interface Terminal {
  print(line: string): void;
  /** Says what is being done now; it moves until something else is said or `settle` is called. */
  progress(text: string): void;
  settle(): void;
}

interface TerminalOptions {
  readonly paint: Paint;
  /** Without it progress is a plain line each. */
  readonly animated: boolean;
  /** Width of the terminal now: a moving line must stay on one row. */
  readonly columns: () => number;
}

/** Writes to a stream. */
export function terminalOn(stream: NodeJS.WritableStream, { paint, animated, columns }: TerminalOptions): Terminal {
  let text = '';
  let frame = 0;
  let timer: NodeJS.Timeout | undefined;
  const clear = (): void => void (timer && stream.write(CLEAR_LINE));
  const draw = (): void => {
    frame = (frame + 1) % FRAMES.length;
    const shown = text.slice(0, Math.max(1, columns() - 3));
    stream.write(`${CLEAR_LINE}${paint('cyan', FRAMES[frame] ?? '')} ${shown}`);
  };
  const finish = (): void => {
    if (timer === undefined) return;
    clear();
    clearInterval(timer);
    timer = undefined;
    stream.write(`${paint('dim', '-')} ${text}\n`);
  };
  return {
    print(line) {
      clear();
      stream.write(`${line}\n`);
      if (timer) draw();
    },
    progress(next) {
      finish();
      text = next;
      if (animated) timer = setInterval(draw, FRAME_MS);
      else stream.write(`- ${text}\n`);
    },
    settle: finish,
  };
}
