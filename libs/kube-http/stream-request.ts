/** What somebody may do in a cluster beyond reading and writing objects. */
const STREAM_KINDS = ['exec', 'attach', 'portforward', 'proxy', 'other'] as const;

/** A request to upgrade, in the words of who asked for it: it was not looked up whether there is such a thing. */
export interface StreamRequest {
  readonly kind: (typeof STREAM_KINDS)[number];
  /** Empty: of the whole cluster, or a path that is none of the Kubernetes API's for streams. */
  readonly namespace: string;
  /** `pods/web-0`; empty as above. */
  readonly object: string;
  /** Empty: the first one. */
  readonly container: string;
  /** Of exec. */
  readonly command: readonly string[];
  /** The command, or a part of it, is longer than what is told of it. */
  readonly commandCut: boolean;
  readonly stdin: boolean;
  readonly tty: boolean;
}

/** As long as the events of streams let them be. A name of an object is a DNS subdomain. */
const MAX_NAME = 253;
/** Of a command: what an auditor needs; a script that is passed whole is told with its beginning. */
const MAX_COMMAND_PARTS = 32;
const MAX_COMMAND_PART = 256;

const STREAMS =
  /^\/api\/v1\/(?:namespaces\/([^/]+)\/)?(pods|services|nodes)\/([^/]+)\/(exec|attach|portforward|proxy)(?:\/.*)?$/;

/** Reads a target (path and query) for the kube-apiserver. Never throws: what it does not know is `other`. */
export function readStreamRequest(target: string): StreamRequest {
  const [path = '', query = ''] = target.split(/\?(.*)/s);
  const [, namespace = '', resource = '', name = '', kind] = STREAMS.exec(path) ?? [];
  const asked = new URLSearchParams(query);
  const command = asked.getAll('command');
  const told = command.slice(0, MAX_COMMAND_PARTS).map((part) => part.slice(0, MAX_COMMAND_PART));
  return {
    kind: STREAM_KINDS.find((each) => each === kind) ?? 'other',
    namespace: namespace.slice(0, MAX_NAME),
    object: kind === undefined ? '' : `${resource}/${name.slice(0, MAX_NAME)}`,
    container: (asked.get('container') ?? '').slice(0, MAX_NAME),
    command: told,
    commandCut: told.length < command.length || told.some((part, i) => part !== command[i]),
    stdin: isTrue(asked.get('stdin')),
    tty: isTrue(asked.get('tty')),
  };
}

/** As Kubernetes reads it (apimachinery, `Convert_Slice_string_To_bool`). */
function isTrue(value: string | null): boolean {
  return value !== null && value !== '' && value !== 'false' && value !== '0';
}
