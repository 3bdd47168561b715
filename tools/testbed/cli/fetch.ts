import { COMPONENTS, type BinaryName } from '../binaries/catalog.js';
import { findBinary } from '../binaries/find-binary.js';
import { TestbedError, messageOf } from '../errors.js';
import { onInterrupt } from './interrupt.js';

/** Gets the named binaries, or all but those that only the real node runs; tries every one before it fails. A line with name and path says that one is here. */
export async function fetchBinaries(names: readonly string[]): Promise<void> {
  const known = Object.keys(COMPONENTS);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new TestbedError(`no binary ${unknown.join(', ')}; there are ${known.join(', ')}`);
  const signal = onInterrupt();
  const failures: string[] = [];
  const wanted = names.length > 0 ? names : known.filter((name) => !COMPONENTS[name as BinaryName].ofRealNode);
  for (const name of wanted as BinaryName[]) {
    try {
      console.log(`${name} ${(await findBinary(name, { signal })).path}`);
    } catch (error) {
      signal.throwIfAborted();
      failures.push(messageOf(error));
    }
  }
  if (failures.length > 0) throw new TestbedError(failures.join('\n'));
}
