import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { REPOSITORY } from '@fairlead/stack';
import { Kept, digestOfSources, type KeptAt } from '@fairlead/suite/kept';
import type { Result } from './report.js';

/** What was found of one area at one scale on one state of the sources, over as many runs as it took. */
export class KeptResults {
  readonly #kept: Kept<Result>;

  constructor(area: string, scale: number, at: KeptAt = ofThisRepository()) {
    this.#kept = new Kept(`soak-${area}-${scale}`, at);
  }

  get path(): string {
    return this.#kept.path;
  }

  add(result: Result): void {
    this.#kept.add(result);
  }

  /** Of each scenario the newest. */
  byLetter(): Map<string, Result> {
    return new Map(this.#kept.all().map((result) => [result.letter, result]));
  }
}

function ofThisRepository(): KeptAt {
  return { sources: sourcesOrNone(), folder: join(REPOSITORY, '.fairlead-tests') };
}

/** Without git nobody can tell whether the sources are the same: then nothing goes on. */
function sourcesOrNone(): string {
  try {
    return digestOfSources(REPOSITORY);
  } catch {
    return randomUUID();
  }
}
