/** Takes one line for people, without a line break. */
export type Log = (line: string) => void;

/** Where the testbed's own lines go unless the caller says otherwise: standard error, so that standard output stays data. */
export const logToStderr: Log = (line) => {
  process.stderr.write(`testbed: ${line}\n`);
};
