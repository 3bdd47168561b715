/** Text of somebody else's as one line that cannot move the cursor of a terminal, colour it, or change its direction. */
export function oneLine(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, '?')
    .trim();
}
