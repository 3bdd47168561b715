import { open } from 'node:fs/promises';
import { FairleadError, messageOf } from '@fairlead/errors';
import { Option } from 'commander';
import { failure, usage } from '../failure.js';

/** More than the server takes. */
const MAX_BYTES = 64 * 1024;
/** Where a refusal names a value. */
const IN_VALUES = /\bmanifestValues(?:\.|: )/g;

/** Said by the help of each command that has the option. */
export const VALUES_HELP = `
A file of values says how the pods are to run there: namespace, imagePullSecrets, nodeSelector, tolerations, resources, priorityClassName,
podLabels, podAnnotations, hostNetwork, healthPort, proxy, caBundle, requireStatements, userNames. It is kept with the cluster, and takes the place
of the one before; an empty file takes all away. No secret belongs in it. docs/your-own-cluster.md has an example.`;

/** `--values`. */
export function valuesOption(): Option {
  return new Option('--values <file>', 'how the pods are to run there, as YAML');
}

/** Of what a request says, with the file's values; nothing without a file. */
export async function valuesOf(file: string | undefined): Promise<{ manifestValues?: Record<string, unknown> }> {
  return file === undefined ? {} : { manifestValues: await readValues(file) };
}

/** What the server answers; where it refuses a value of the file, that is said of the file. */
export async function judgedOf<T>(file: string | undefined, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (file === undefined || !(error instanceof FairleadError)) throw error;
    const message = error.message.replaceAll(IN_VALUES, () => `${file}: `);
    if (message === error.message) throw error;
    throw failure(error.code, message, 'correct the file; docs/your-own-cluster.md has an example', error);
  }
}

/** What the file says, unjudged: the server knows what is allowed. Throws if it is no YAML mapping. */
async function readValues(file: string): Promise<Record<string, unknown>> {
  const text = await readBounded(file);
  // Loaded only here: most commands need no YAML.
  const { parseDocument } = await import('yaml');
  const document = parseDocument(text);
  const [error] = document.errors;
  const how = 'write it as in docs/your-own-cluster.md';
  if (error) throw usage(`${file} is no YAML: ${error.message.split('\n')[0]?.replace(/:$/, '')}`, how);
  const values: unknown = document.toJS({ maxAliasCount: 20 });
  if (values === null) return {};
  if (typeof values !== 'object' || Array.isArray(values)) throw usage(`${file} is no mapping of values`, how);
  return values as Record<string, unknown>;
}

async function readBounded(file: string): Promise<string> {
  try {
    await using handle = await open(file, 'r');
    const buffer = Buffer.alloc(MAX_BYTES + 1);
    let size = 0;
    for (let read = 1; read > 0 && size < buffer.length; size += read) {
      ({ bytesRead: read } = await handle.read(buffer, size, buffer.length - size));
    }
    if (size <= MAX_BYTES) return buffer.toString('utf8', 0, size);
  } catch (error) {
    // Node's own words end with the path.
    throw usage(
      `cannot read ${file}: ${messageOf(error).replace(/, \w+ '.*'$/, '')}`,
      'name a YAML file with --values',
    );
  }
  throw usage(`${file} has more than ${MAX_BYTES} bytes`, 'name a YAML file with --values');
}
