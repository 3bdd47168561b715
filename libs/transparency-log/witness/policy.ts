import { FairleadError } from '@fairlead/errors';
import { cosignedAt, parseVerifierKey, type NoteVerifier } from '../note/keys.js';
import { isOf, parseNote } from '../note/signed-note.js';

/** A witness of a policy; `name` is the policy's own, and means nothing elsewhere. */
export interface PolicyWitness {
  readonly name: string;
  readonly verifierKey: string;
  readonly key: NoteVerifier;
  /** Its submission prefix, for whoever asks it. */
  readonly url?: URL;
}

/** How many of these, each the name of a witness or of a group. */
interface Group {
  readonly needed: number;
  readonly members: readonly string[];
}

/** Which witnesses there are, and which of them together are enough (C2SP tlog-policy). */
export interface WitnessPolicy {
  /** Keys of the logs that it is for; none: whoever uses it knows the log. */
  readonly logs: readonly NoteVerifier[];
  readonly witnesses: readonly PolicyWitness[];
  readonly groups: ReadonlyMap<string, Group>;
  /** The name of a witness or of a group, or `none`. */
  readonly quorum: string;
}

/** What became of a policy at one checkpoint; names are the policy's own. */
export interface PolicyVerdict {
  readonly reached: boolean;
  readonly cosigned: readonly { readonly name: string; readonly at: Date }[];
  /** Witnesses without a line below the checkpoint. */
  readonly missing: readonly string[];
  /** In whose name there is a line that they did not sign for this checkpoint. */
  readonly forged: readonly string[];
}

const NOBODY = 'none';
/** As many as the format asks for, and no more: whoever writes one by hand has fewer. */
const MAX_OF_A_KIND = 32;
const MAX_POLICY_BYTES = 64 * 1024;
const ALLOWED = /^[\t\n\u0020-\u007e\u0080-\uffff]*$/;

/** Reads a policy. Throws INVALID_ARGUMENT that names the line. */
export function parseWitnessPolicy(text: string): WitnessPolicy {
  if (text.length > MAX_POLICY_BYTES || !ALLOWED.test(text)) throw malformed(0, 'it is too long, or no text');
  const reading = new PolicyReading();
  for (const [index, line] of text.split('\n').entries()) {
    const items = line.split(/[ \t]+/).filter((item) => item !== '');
    if (items.length > 0 && !items[0]?.startsWith('#')) reading.take(index + 1, items);
  }
  return reading.done();
}

/** A policy that any `needed` of these witnesses fulfil. Throws INVALID_ARGUMENT where they cannot. */
export function countingPolicy(verifierKeys: readonly string[], needed: number): WitnessPolicy {
  const lines = verifierKeys.map((key, index) => `witness ${index + 1} ${key}`);
  const names = verifierKeys.map((_, index) => String(index + 1));
  return parseWitnessPolicy(
    [...lines, `group all-of-them ${needed} ${names.join(' ')}`, 'quorum all-of-them'].join('\n'),
  );
}

/**
 * Whether the witnesses that cosigned a checkpoint are enough. Nothing is said of the log's own signature: open the checkpoint as well. Throws INVALID_ARGUMENT
 * for a malformed note.
 */
export function verifyPolicy(note: Uint8Array, policy: WitnessPolicy): PolicyVerdict {
  const { text, signatures } = parseNote(note);
  const seen = policy.witnesses.map(({ name, key }) => {
    const line = signatures.find((signature) => isOf(key, signature));
    return { name, line, isGood: line !== undefined && key.verify(text, line.signature) };
  });
  const cosigned = seen.flatMap(({ name, line, isGood }) =>
    isGood && line ? [{ name, at: cosignedAt(line.signature) }] : [],
  );
  return {
    reached: isFulfilledBy(policy, new Set(cosigned.map(({ name }) => name))),
    cosigned,
    missing: seen.filter(({ line }) => line === undefined).map(({ name }) => name),
    forged: seen.filter(({ line, isGood }) => line !== undefined && !isGood).map(({ name }) => name),
  };
}

/** Whether these witnesses, by the policy's names, are enough. */
export function isFulfilledBy(policy: WitnessPolicy, witnesses: ReadonlySet<string>): boolean {
  const holds = (name: string): boolean => {
    const group = policy.groups.get(name);
    return group ? group.members.filter(holds).length >= group.needed : witnesses.has(name);
  };
  return policy.quorum === NOBODY || holds(policy.quorum);
}

class PolicyReading {
  readonly #logs: NoteVerifier[] = [];
  readonly #witnesses: PolicyWitness[] = [];
  readonly #groups = new Map<string, Group>();
  readonly #names = new Set<string>();
  /** Each stands in one group at most, so that a witness counts once. */
  readonly #members = new Set<string>();
  #quorum: string | undefined;

  take(line: number, [kind, ...items]: readonly string[]): void {
    if (kind === 'log') this.#log(line, items);
    else if (kind === 'witness') this.#witness(line, items);
    else if (kind === 'group') this.#group(line, items);
    else if (kind === 'quorum') this.#takeQuorum(line, items);
    else throw malformed(line, `it begins with none of log, witness, group and quorum`);
  }

  done(): WitnessPolicy {
    if (this.#quorum === undefined) throw malformed(0, 'it has no line that says the quorum');
    return { logs: this.#logs, witnesses: this.#witnesses, groups: this.#groups, quorum: this.#quorum };
  }

  #log(line: number, [vkey = '', , ...more]: readonly string[]): void {
    if (more.length > 0) throw malformed(line, 'a log is a key and perhaps a URL');
    this.#logs.push(this.#key(line, vkey, 'ed25519', this.#logs));
  }

  #witness(line: number, [name = '', vkey = '', address, ...more]: readonly string[]): void {
    if (more.length > 0) throw malformed(line, 'a witness is a name, a key and perhaps a URL');
    const keys = this.#witnesses.map(({ key }) => key);
    const key = this.#key(line, vkey, 'cosignature', keys);
    this.#define(line, name);
    const url = address === undefined ? undefined : URL.parse(address);
    if (url === null) throw malformed(line, 'its URL is none');
    this.#witnesses.push({ name, verifierKey: vkey, key, ...(url && { url }) });
  }

  #key(line: number, vkey: string, type: NoteVerifier['type'], known: readonly NoteVerifier[]): NoteVerifier {
    if (known.length === MAX_OF_A_KIND) throw malformed(line, `there are more than ${MAX_OF_A_KIND} of them`);
    const key = parseVerifierKey(vkey);
    if (key.type !== type) throw malformed(line, `its key is no key of a ${type === 'ed25519' ? 'log' : 'witness'}`);
    if (known.some(({ publicKey }) => Buffer.from(publicKey).equals(key.publicKey)))
      throw malformed(line, 'its key stands in another line as well');
    return key;
  }

  #group(line: number, [name = '', threshold = '', ...members]: readonly string[]): void {
    if (this.#groups.size === MAX_OF_A_KIND) throw malformed(line, `there are more than ${MAX_OF_A_KIND} groups`);
    for (const member of members) {
      if (!this.#names.has(member)) throw malformed(line, `${member} is not defined above it`);
      if (this.#members.has(member)) throw malformed(line, `${member} is a member twice`);
      this.#members.add(member);
    }
    const needed = { any: 1, all: members.length }[threshold] ?? (/^[1-9]\d?$/.test(threshold) ? Number(threshold) : 0);
    if (needed < 1 || needed > members.length)
      throw malformed(line, `${threshold} of ${members.length} cannot be asked for`);
    this.#define(line, name);
    this.#groups.set(name, { needed, members });
  }

  #takeQuorum(line: number, [name = '', ...more]: readonly string[]): void {
    if (more.length > 0 || this.#quorum !== undefined) throw malformed(line, 'there is one quorum, of one name');
    if (name !== NOBODY && !this.#names.has(name)) throw malformed(line, `${name} is not defined above it`);
    this.#quorum = name;
  }

  #define(line: number, name: string): void {
    if (name === '' || name === NOBODY || this.#names.has(name)) throw malformed(line, 'its name is taken, or none');
    this.#names.add(name);
  }
}

function malformed(line: number, why: string): FairleadError {
  return new FairleadError(
    'INVALID_ARGUMENT',
    `this is no policy of witnesses: ${line > 0 ? `line ${line}: ` : ''}${why}`,
  );
}
