/**
 * What is returned hands each value on, one at a time; of those that come meanwhile only the last. However fast a gateway sends, it takes the time of one, and
 * nothing of what comes by another link.
 */
export function takeLatest<T>(take: (value: T) => Promise<void>): (value: T) => void {
  let told: { readonly value: T } | null = null;
  let isTaking = false;
  const takeAll = async (): Promise<void> => {
    isTaking = true;
    for (let next = told; next; next = told) {
      told = null;
      await take(next.value);
    }
    isTaking = false;
  };
  return (value) => {
    told = { value };
    if (!isTaking) void takeAll();
  };
}
