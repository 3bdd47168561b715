import { createInterface } from 'node:readline/promises';
import { failure, usage } from '../failure.js';
import type { Io } from '../io.js';

const [CTRL_C, CTRL_D, BACKSPACE, DELETE] = ['\u0003', '\u0004', '\b', '\u007f'];

/** Asks on the terminal without showing what is typed. */
export function askHidden(io: Io, question: string): Promise<string> {
  io.stderr.write(question);
  io.stdin.setRawMode?.(true);
  return new Promise<string>((resolve, reject) => {
    let typed = '';
    const onData = (chunk: Buffer | string): void => {
      for (const key of String(chunk)) {
        if (key === CTRL_C) return finish(() => reject(failure('INVALID_ARGUMENT', 'cancelled', 'start again')));
        if (key === '\r' || key === '\n' || key === CTRL_D) return finish(() => resolve(typed));
        typed = key === BACKSPACE || key === DELETE ? typed.slice(0, -1) : typed + key;
      }
    };
    const finish = (settle: () => void): void => {
      io.stdin.off('data', onData);
      io.stdin.setRawMode?.(false);
      io.stdin.pause();
      io.stderr.write('\n');
      settle();
    };
    io.stdin.on('data', onData);
    io.stdin.resume();
  });
}

/** A yes or no on the terminal; anything but yes is no. */
async function confirm(io: Io, question: string): Promise<boolean> {
  const lines = createInterface({ input: io.stdin, output: io.stderr });
  try {
    const answer = await Promise.race([
      lines.question(`${question} [y/N] `),
      new Promise<string>((resolve) => lines.once('close', () => resolve(''))),
    ]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}

/** The same, unless it was said already; usage error where nobody can be asked. */
export async function confirmed(io: Io, question: string, yes: true | undefined): Promise<boolean> {
  if (yes) return true;
  if (!io.stdin.isTTY) throw usage('there is no terminal to ask on', 'add --yes if you are sure');
  return confirm(io, question);
}
