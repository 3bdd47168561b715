import { FairleadError } from '@fairlead/errors';
import type { GitHost } from '../git-host.js';
import type { Ownership } from '../ownership.js';
import { parseRepositoryPath, repositoryText } from '../repository-path.js';
import { readClusterKey } from '../ssh-public-key.js';

/** A host without an API that we use: somebody adds the keys, and a probe finds out whether they work. */
export function manualGitHost(ownership: Ownership): GitHost {
  return {
    kind: 'manual',
    checkRights: async () => ({ account: null, expiresAt: null, findings: [] }),
    findRepository: async () => ({ state: 'unknown' }),
    async createRepository(path) {
      throw new FairleadError(
        'INVALID_ARGUMENT',
        `make the repository ${repositoryText(path)} by hand: no API is used`,
      );
    },
    listDeployKeys: async () => ({ state: 'unknown' }),
    async addDeployKey(path, spec) {
      const where = repositoryText(parseRepositoryPath(repositoryText(path)));
      const title = ownership.titleOf(spec.label);
      const publicKey = readClusterKey(spec.publicKey).text;
      const instructions = `Add this key to ${where} as a deploy key that may only read, with the title ${title}.`;
      return { state: 'by-hand', title, publicKey, instructions };
    },
    async removeDeployKey(path, { fingerprint }) {
      const where = repositoryText(parseRepositoryPath(repositoryText(path)));
      if (!/^SHA256:[A-Za-z0-9+/]{43}$/.test(fingerprint))
        throw new FairleadError('INVALID_ARGUMENT', 'a fingerprint is SHA256: and 43 characters of base64');
      return {
        state: 'by-hand',
        instructions: `Remove the deploy key with the fingerprint ${fingerprint} from ${where}.`,
      };
    },
    branchHead: async () => ({ state: 'unknown' }),
    [Symbol.asyncDispose]: async () => {},
  };
}
