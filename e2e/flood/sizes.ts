/** How much of everything. Scenarios take their numbers from here alone. */
export interface FloodSizes {
  readonly connections: number;
  /** Of one core, for whoever floods. */
  readonly share: number;
  readonly seconds: number;
  /** As long as it goes on at most until all its connections were closed: a busy gateway comes to the last of them later. */
  readonly mostSeconds: number;
  /** From the end of a flood until what the gateway holds is looked at again; 0: it is not. */
  readonly restSeconds: number;
  /** The user's requests before the flood: about as many as in a minute of it, else a p99 of them is chance. */
  readonly idlePings: number;
  readonly judgesTimes: boolean;
}

export const FULL: FloodSizes = {
  connections: 100,
  share: 0.5,
  seconds: 60,
  mostSeconds: 60,
  restSeconds: 60,
  idlePings: 1_000,
  judgesTimes: true,
};

/** As in `npm test`. */
export const SCALED: FloodSizes = {
  connections: 100,
  share: 0.5,
  seconds: 3,
  mostSeconds: 60,
  restSeconds: 0,
  idlePings: 5,
  judgesTimes: false,
};

/** The full sizes, for a part of the time. */
export function scaled(scale: number): FloodSizes {
  const seconds = Math.max(3, FULL.seconds * scale);
  return { ...FULL, seconds, mostSeconds: seconds, judgesTimes: scale >= 1 };
}
