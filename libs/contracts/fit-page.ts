/** Bytes of JSON that one answer may hold, with room for the envelope around it. */
const PAGE_BYTES = 192 * 1024;

/** The first items that fit; at least one, so that paging always goes on. */
export function fitPage<T>(items: readonly T[], maxBytes: number = PAGE_BYTES): T[] {
  let bytes = 0;
  const end = items.findIndex((item, index) => {
    bytes += Buffer.byteLength(JSON.stringify(item)) + 1;
    return index > 0 && bytes > maxBytes;
  });
  return items.slice(0, end === -1 ? items.length : end);
}

/** Those of at most `limit` items that fit, and where the next page begins: behind the last one. Without that, nothing follows; with it, there may be more. */
export function pageOf<T, Place>(
  items: readonly T[],
  limit: number,
  placeOf: (item: T) => Place,
): { readonly items: T[]; readonly next?: Place } {
  const fitting = fitPage(items);
  const last = fitting.at(-1);
  const isMore = fitting.length < items.length || items.length === limit;
  return last !== undefined && isMore ? { items: fitting, next: placeOf(last) } : { items: fitting };
}
