const [OTHERS, GROUP_BUT_READ, GROUP_READ] = [0o007, 0o030, 0o040];

/** What `stat` says of a file. */
export interface FileAccess {
  readonly mode: number;
  readonly uid: number;
}

/**
 * May only its owner read and change this file? A group may read one that belongs to root all the same: so a Secret is mounted
 * into a pod whose user is not root.
 */
export function isPrivate({ mode, uid }: FileAccess): boolean {
  return (mode & (OTHERS | GROUP_BUT_READ | (uid === 0 ? 0 : GROUP_READ))) === 0;
}

/** Its permissions, for people: `644`. */
export function shownMode({ mode }: FileAccess): string {
  return (mode & 0o777).toString(8);
}
