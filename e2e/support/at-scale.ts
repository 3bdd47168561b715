/** Full sizes times `scale`: those that are named, to whole numbers and to no less than makes sense. The others stay as they are. */
export function atScale<Sizes extends { readonly judgesTimes: boolean }>(
  full: Sizes,
  least: { readonly [Size in keyof Sizes]?: number },
  scale: number,
): Sizes {
  const scaled = Object.entries<number | undefined>(least).map(([size, atLeast = 0]) => [
    size,
    Math.max(atLeast, Math.round(Number(full[size as keyof Sizes]) * scale)),
  ]);
  return { ...full, ...(Object.fromEntries(scaled) as Partial<Sizes>), judgesTimes: scale >= 1 };
}
