import type { Sizes } from './sizes.js';

/** One measured value of a scenario. */
export interface Figure {
  readonly what: string;
  readonly value: string;
}

/** What a scenario measured, and what did not hold. */
export class Findings {
  readonly figures: Figure[] = [];
  readonly faults: string[] = [];
  /** How far it is, for whoever waits. */
  doing = '';
  readonly #judgesTimes: boolean;

  constructor({ judgesTimes }: Pick<Sizes, 'judgesTimes'>) {
    this.#judgesTimes = judgesTimes;
  }

  figure(what: string, value: number | string, unit = ''): void {
    const text = typeof value === 'number' && !Number.isInteger(value) ? value.toFixed(value < 10 ? 2 : 0) : `${value}`;
    this.figures.push({ what, value: unit === '' ? text : `${text} ${unit}` });
  }

  /** Records a fault unless it holds. The scenario goes on: one fault must not hide the next. */
  must(holds: boolean, otherwise: string): void {
    if (!holds) this.faults.push(otherwise);
  }

  /** The same for what a busy machine alone can break: how fast, and how evenly in time. A fault where times are judged. */
  mustInTime(holds: boolean, otherwise: string): void {
    if (this.#judgesTimes) this.must(holds, otherwise);
  }
}
