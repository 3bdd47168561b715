/** What a command was asked for. After `--help` it has printed the usage and ended with 0; what is wrong it says in one line, and ends with 2. */
export function orUsage<Asked extends { readonly values: { readonly help?: boolean } }>(
  usage: string,
  read: () => Asked,
): Asked {
  let asked: Asked;
  try {
    asked = read();
  } catch (error) {
    const [why] = (error instanceof Error ? error.message : String(error)).split('. ');
    console.error(`${why}; --help says what there is`);
    return process.exit(2);
  }
  if (!asked.values.help) return asked;
  console.log(usage);
  return process.exit(0);
}
