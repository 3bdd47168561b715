/** The middle value; the mean of the two middle ones of an even number. Null of nothing. */
export function median(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] as number;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2;
}

/** The largest distance of a value from the median, as a part of the median. Null where that says nothing. */
export function spread(values: readonly number[]): number | null {
  const middle = median(values);
  if (middle === null || middle === 0 || values.length < 2) return null;
  return Math.max(...values.map((value) => Math.abs(value - middle))) / middle;
}
