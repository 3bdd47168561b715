const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
export type Colour = keyof typeof CODES;
export type Paint = (colour: Colour, text: string) => string;

/** Colours a text, or leaves it as it is where nobody could see them. */
export function painter(enabled: boolean): Paint {
  return enabled ? (colour, text) => `\u001B[${CODES[colour]}m${text}\u001B[0m` : (_colour, text) => text;
}
