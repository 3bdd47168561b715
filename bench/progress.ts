const CLEAR_LINE = '\r\u001B[K';

/** Says what is being done, beside the results: on one line that changes where a person watches, else on a line each. */
export interface Progress {
  readonly say: (text: string) => void;
  /** Takes the changing line away. */
  end(): void;
}

export function progressOn(stream: NodeJS.WriteStream): Progress {
  const startedMs = performance.now();
  const stamp = (): string => `${((performance.now() - startedMs) / 1_000).toFixed(0).padStart(3)} s`;
  if (!stream.isTTY) return { say: (text) => void stream.write(`${stamp()}  ${text}\n`), end: () => undefined };
  let shown = '';
  const draw = (): void =>
    void stream.write(`${CLEAR_LINE}${`${stamp()}  ${shown}`.slice(0, Math.max(20, stream.columns - 1))}`);
  // The seconds move, so that a long step does not look like a dead one.
  const timer = setInterval(draw, 1_000).unref();
  return {
    say(text) {
      shown = text;
      draw();
    },
    end() {
      clearInterval(timer);
      stream.write(CLEAR_LINE);
    },
  };
}
