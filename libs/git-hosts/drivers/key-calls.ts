import type { z } from 'zod';
import { readAs, type GitHttp } from '../http/git-http.js';
import type { RepositoryPath } from '../repository-path.js';
import type { HostApi, HostKey } from './host-api.js';

export interface KeyCallOptions<Key> {
  readonly http: GitHttp;
  /** Of a repository, below the API's base. */
  readonly at: (path: RepositoryPath) => string;
  readonly keyShape: z.ZodType<Key>;
  readonly toKey: (key: Key) => HostKey;
}

/** The calls for one deploy key where Gitea's API is as GitHub's. */
export function keyCalls<Key>({
  http,
  at,
  keyShape,
  toKey,
}: KeyCallOptions<Key>): Pick<HostApi, 'key' | 'createKey' | 'deleteKey'> {
  return {
    async key(path, id, signal) {
      const what = 'find the deploy key';
      const answer = await http.send({ what, path: `${at(path)}/keys/${id}`, expect: [200, 404] }, signal);
      return answer.status === 404 ? null : toKey(readAs(keyShape, answer.body, what));
    },

    async createKey(path, { title, key }, signal) {
      const what = 'add a deploy key';
      const body = { title, key, read_only: true };
      const answer = await http.send({ what, method: 'POST', path: `${at(path)}/keys`, body, expect: [201] }, signal);
      return toKey(readAs(keyShape, answer.body, what));
    },

    async deleteKey(path, id, signal) {
      const what = 'remove a deploy key';
      const expect = [204, 404];
      const answer = await http.send({ what, method: 'DELETE', path: `${at(path)}/keys/${id}`, expect }, signal);
      return answer.status === 204;
    },
  };
}
