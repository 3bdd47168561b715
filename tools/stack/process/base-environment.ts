const PASSED_ON = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];

/**
 * What our children get of our own environment: where programs are, and the language. Nothing that points elsewhere:
 * no KUBECONFIG of the user, no proxy (everything is on this machine), no DATABASE_URL with a password in it.
 */
export function baseEnvironment(): Record<string, string> {
  return Object.fromEntries(
    PASSED_ON.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}
