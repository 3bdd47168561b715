import { execFile, type ChildProcess } from 'node:child_process';
import { readFile, readlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { eventually } from '@fairlead/testing';

/** The command in a terminal of its own (`script`, util-linux), whose exit code is the command's. */
export function inTerminal(command: readonly string[]): readonly string[] {
  const quoted = command.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`);
  return ['script', '--quiet', '--return', '--command', `exec ${quoted.join(' ')}`, '/dev/null'];
}

/** Makes that terminal another size, as a person who pulls at the window does: the command is told. */
export async function resize(terminal: ChildProcess, size: { readonly rows: number; readonly columns: number }) {
  const { pid } = terminal;
  const device = await eventually(async () => {
    const [child] = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ');
    const found = await readlink(`/proc/${child}/fd/0`);
    if (!found.startsWith('/dev/pts/')) throw new Error(`its input is ${found}`);
    return found;
  });
  await promisify(execFile)('stty', ['-F', device, 'rows', `${size.rows}`, 'cols', `${size.columns}`]);
}
