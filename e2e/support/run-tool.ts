import { execFile } from 'node:child_process';

export interface Said {
  /** Null: it was killed at its deadline. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const TIMEOUT_MS = 180_000;
const MAX_BYTES = 64 * 1024 * 1024;

/** Runs a tool to its end with these variables and little else; never rejects for its exit code. */
export function tryTool(
  path: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  { timeoutMs = TIMEOUT_MS, cwd }: { readonly timeoutMs?: number; readonly cwd?: string } = {},
): Promise<Said> {
  const { PATH = '' } = process.env;
  const options = {
    env: { PATH, ...env },
    timeout: timeoutMs,
    maxBuffer: MAX_BYTES,
    ...(cwd === undefined ? {} : { cwd }),
  };
  return new Promise((resolve, reject) => {
    execFile(path, [...args], options, (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number' && error.signal === undefined) reject(error);
      else resolve({ code: error ? (typeof error.code === 'number' ? error.code : null) : 0, stdout, stderr });
    });
  });
}

/** Its standard output. Throws with what it said unless it succeeds. */
export async function runTool(...[path, args, ...how]: Parameters<typeof tryTool>): Promise<string> {
  const { code, stdout, stderr } = await tryTool(path, args, ...how);
  if (code !== 0) throw new Error(`${path} ${args.join(' ')} ended with ${code}: ${stderr}\n${stdout}`);
  return stdout;
}

/** For the reader of a test's output, and of docs/tools.md. */
export function sayVersion(tool: string, version: string): void {
  console.log(`${tool} ${version}`);
}
