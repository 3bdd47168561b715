import { FairleadError } from '@fairlead/errors';

const INSTALLATION = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;
const LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,98}[A-Za-z0-9])?$/;

/**
 * How keys of this installation are told from all others: by their title, which begins with the installation's name. Two
 * installations that share a repository must have different names (1–40 lower-case letters, digits and hyphens), or each would
 * take the other's keys for its own; INVALID_ARGUMENT for any other name.
 */
export class Ownership {
  readonly #prefix: string;

  constructor(installation: string) {
    if (!INSTALLATION.test(installation))
      throw new FairleadError('INVALID_ARGUMENT', 'an installation is named with 1–40 of a–z, 0–9 and hyphens');
    this.#prefix = `fairlead:${installation}:`;
  }

  /** Throws INVALID_ARGUMENT for a label that could be taken for more than it is. */
  titleOf(label: string): string {
    if (!LABEL.test(label))
      throw new FairleadError('INVALID_ARGUMENT', "a key's label is 1–100 letters, digits, '.', '_', '-' or '/'");
    return `${this.#prefix}${label}`;
  }

  isOurs(title: string): boolean {
    return title.startsWith(this.#prefix) && LABEL.test(title.slice(this.#prefix.length));
  }
}
