/** What nobody caught, as it came. */
export interface Crashes extends Disposable {
  readonly seen: unknown[];
}

/** From now on, until it is disposed of, a fault that nobody catches is kept and ends nothing. */
export function collectCrashes(): Crashes {
  const seen: unknown[] = [];
  const onCrash = (error: unknown): void => void seen.push(error);
  process.on('uncaughtException', onCrash);
  process.on('unhandledRejection', onCrash);
  return {
    seen,
    [Symbol.dispose]: () => {
      process.off('uncaughtException', onCrash);
      process.off('unhandledRejection', onCrash);
    },
  };
}
