/** All at once, and the failure of one is its own: `failed` hears of it. Fails only if `failed` does. */
export async function eachApart<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
  failed: (item: T, error: unknown) => Promise<void>,
): Promise<void> {
  await Promise.all(items.map((item) => work(item).catch((error: unknown) => failed(item, error))));
}
