import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stack } from '@fairlead/stack';
import { secretsInCluster, shownByKubectl } from './cluster.js';
import { collectFromState, filesIn } from './collect.js';
import { Finder } from './finder.js';
import { storedHashes } from './hashes.js';
import { showProcess, startedProcesses } from './processes.js';
import { SecretRegistry } from './registry.js';

const MAX_HEARD_CHARS = 2 ** 20;

interface Heard {
  readonly where: string;
  readonly text: string;
  /** Names of secrets that it is meant to hold: it is how they are given to whoever asked for them. */
  readonly given: ReadonlySet<string>;
}

/**
 * What one test file issued, and all that was said meanwhile. At the end nothing that was said may hold anything that was
 * issued: not a log, an event, an entry of a bucket, an error, a process list, nor what kubectl shows.
 */
export class SecretScan {
  readonly issued = new SecretRegistry();
  /** Of secrets that are not known here, but were issued. */
  readonly #hashes = new Map<string, string>();
  readonly #heard: Heard[] = [];

  /** Output, an error, an answer. A token or link in it counts as issued by it, where it `gives` one. */
  hear(where: string, text: string, { gives = false }: { readonly gives?: boolean } = {}): void {
    const given = gives ? this.issued.addGiven(text) : new Set<string>();
    this.#heard.push({ where, text: text.slice(0, MAX_HEARD_CHARS), given });
  }

  /** How a process is shown to others; for one that ends before its stack does. */
  hearProcess(where: string, pid: number | undefined): void {
    if (pid !== undefined) this.hear(`arguments and environment of ${where}`, showProcess(pid));
  }

  /** While everything still runs: the secrets that the stack holds, its processes, what its cluster shows. */
  async look(stack: Stack): Promise<void> {
    await this.lookAt(stack.stateDir);
    for (const [hash, name] of await storedHashes(stack)) this.#hashes.set(hash, name);
    const kubernetes = stack.processes.find(({ name }) => name === 'kubernetes');
    if ('unavailable' in stack.demo || kubernetes?.pid === undefined) return;
    for (const [name, value] of await secretsInCluster(stack)) {
      this.issued.addGiven(value);
      this.issued.addIdentity(`the private key in the Secret ${name}`, value);
    }
    for (const [command, text] of await shownByKubectl(stack)) this.hear(command, text);
  }

  /** The same for a stack in a process of its own, of which the state directory is all that is known. */
  async lookAt(stateDir: string): Promise<void> {
    await collectFromState(this.issued, stateDir);
    for (const { pid, shown } of startedProcesses()) this.hear(`arguments and environment of process ${pid}`, shown);
  }

  /** After the end: logs, and all that NATS stored. Throws an Error that names where and what, never the secret. */
  async finish(stateDir: string): Promise<void> {
    const finder = new Finder(this.issued.names, this.#hashes);
    // By its hash, what somebody was given looks like what was shown.
    const known = new Finder(this.issued.names);
    const findings = this.#heard.flatMap(({ where, text, given }) =>
      [...(given.size > 0 ? known : finder).find(Buffer.from(text))]
        .filter((name) => !given.has(name))
        .map((name) => `${where}: ${name}`),
    );
    let bytes = 0;
    const files = await Promise.all(['logs', 'nats'].map((folder) => filesIn(join(stateDir, folder))));
    for (const path of files.flat()) {
      const content = await readFile(path);
      bytes += content.length;
      for (const name of finder.find(content)) findings.push(`${path.slice(stateDir.length + 1)}: ${name}`);
    }
    if (this.issued.count < 8 || bytes < 10_000) {
      throw new Error(`the scan saw ${this.issued.count} secrets and ${bytes} bytes: it does not look where it should`);
    }
    if (findings.length > 0) throw new Error(`secrets were shown:\n${[...new Set(findings)].join('\n')}`);
  }
}

/** Of this test file: the modules of each are its own. */
export const secretScan = new SecretScan();
