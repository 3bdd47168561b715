/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** What happens in a stack, for whoever shows it. */
export type StackEvent =
  | { readonly kind: 'progress'; readonly text: string }
  | { readonly kind: 'line'; readonly process: string; readonly line: string }
  | { readonly kind: 'running'; readonly process: string; readonly pid: number | undefined }
  | { readonly kind: 'died'; readonly process: string; readonly how: string; readonly tail: readonly string[] }
  | { readonly kind: 'restarting'; readonly process: string; readonly delayMs: number };

export type StackLog = (event: StackEvent) => void;

/** "code 1", "SIGKILL". */
export function describeExit(exit: Exit): string {
  return exit.signal ?? `code ${exit.code}`;
}
