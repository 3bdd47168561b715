/** What the HTTP client needs; npm scripts bring a newer one with them. */
const OLDEST = [22, 19] as const;

/** Why this Node cannot run the command, as two lines; undefined if it can. */
export function refuseOldNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return undefined;
  return [
    `error: this command needs Node ${OLDEST.join('.')} or newer, and this is ${version}`,
    'next: in the repository use npm run fairlead -- …, or .fairlead/bin/fairlead; both bring their own',
    '',
  ].join('\n');
}
