/** Work, and whether it is over, however it ended. */
export function watched<T>(done: Promise<T>): { readonly done: Promise<T>; readonly isOver: () => boolean } {
  let isOver = false;
  const end = (): void => void (isOver = true);
  done.then(end, end);
  return { done, isOver: () => isOver };
}
