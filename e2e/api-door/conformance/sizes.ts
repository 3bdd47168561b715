/** A case is a case: there is nothing to scale but how often one may be tried. */
export interface Sizes {
  readonly tries: number;
  readonly judgesTimes: boolean;
}

export function scaled(scale: number): Sizes {
  return { tries: 2, judgesTimes: scale >= 1 };
}
