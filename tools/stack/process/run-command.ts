import { spawn } from 'node:child_process';

export interface CommandOutput {
  /** Null if a signal ended it (the deadline's SIGKILL, for one). */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface CommandOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly stdin?: string;
  /** Default 60 s; then it is killed. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const MAX_OUTPUT_BYTES = 32 * 2 ** 20;

/** Runs a program to its end and collects what it says, at most 32 MiB of each stream (more kills it). Never rejects for its exit code. */
export function runCommand(path: string, args: readonly string[], options: CommandOptions): Promise<CommandOutput> {
  return new Promise((resolve, reject) => {
    const child = spawn(path, args, {
      env: { ...options.env },
      cwd: options.cwd,
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: options.timeoutMs ?? 60_000,
      killSignal: 'SIGKILL',
      ...(options.signal ? { signal: options.signal } : {}),
    });
    const tooMuch = (): void => void child.kill('SIGKILL');
    const [stdout, stderr] = [collect(child.stdout, tooMuch), collect(child.stderr, tooMuch)];
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout: stdout(), stderr: stderr() }));
    // It may end without reading all of its input: that is its right.
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.stdin ?? '');
  });
}

function collect(stream: NodeJS.ReadableStream, tooMuch: () => void): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_OUTPUT_BYTES) tooMuch();
    else chunks.push(chunk);
  });
  return () => Buffer.concat(chunks).toString('utf8');
}
