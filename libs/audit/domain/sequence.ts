/** Numbers from the first to the last, both included. */
export interface NumberRange {
  readonly from: number;
  readonly to: number;
}

/** Which numbers of one epoch have come: all up to the mark, but for those that are missing. */
export interface Sequence {
  readonly mark: number;
  /** In order, apart from each other, none above the mark. */
  readonly missing: readonly NumberRange[];
}

export const NOTHING_YET: Sequence = { mark: 0, missing: [] };

export interface Advance {
  readonly sequence: Sequence;
  /** Of what came, that had not come before. In order. */
  readonly fresh: readonly NumberRange[];
}

/**
 * Takes what came into account, in whatever order and however often it comes: each number is fresh once. Numbers that were left out are missing from then on, until they
 * come after all. `came` may be empty: then all below it has been given out.
 */
export function advance({ mark, missing }: Sequence, came: NumberRange): Advance {
  const late = missing.map((gap) => common(gap, came)).filter((range) => range !== null);
  const above = [{ from: Math.max(came.from, mark + 1), to: came.to }].filter(({ from, to }) => from <= to);
  const left = missing.flatMap((gap) => without(gap, came));
  const skipped = came.from > mark + 1 ? [{ from: mark + 1, to: came.from - 1 }] : [];
  return {
    fresh: [...late, ...above],
    sequence: { mark: Math.max(mark, came.to), missing: [...left, ...skipped] },
  };
}

function common(one: NumberRange, other: NumberRange): NumberRange | null {
  const from = Math.max(one.from, other.from);
  const to = Math.min(one.to, other.to);
  return from <= to ? { from, to } : null;
}

function without(gap: NumberRange, taken: NumberRange): NumberRange[] {
  if (!common(gap, taken)) return [gap];
  const before = { from: gap.from, to: taken.from - 1 };
  const after = { from: taken.to + 1, to: gap.to };
  return [before, after].filter(({ from, to }) => from <= to);
}
