/** How often a property is tried; a longer run for a night: `FAIRLEAD_FUZZ_RUNS=100000`. */
export const FUZZ_RUNS = runs(process.env['FAIRLEAD_FUZZ_RUNS'], 300);

/** The same for properties that need a tunnel each. */
export const PROPERTY_RUNS = Math.max(15, Math.ceil(FUZZ_RUNS / 20));

function runs(text: string | undefined, otherwise: number): number {
  const count = Number(text ?? otherwise);
  if (!Number.isInteger(count) || count < 1) throw new Error('FAIRLEAD_FUZZ_RUNS must be a positive whole number');
  return count;
}
