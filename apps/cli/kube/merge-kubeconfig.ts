import { isMap, isSeq, parseDocument, type Document, type YAMLMap, type YAMLSeq } from 'yaml';
import { failure } from '../failure.js';
import { LISTS, type Kubeconfig, type NamedEntry } from './kubeconfig.js';

type List = (typeof LISTS)[number];

/**
 * A kubeconfig, YAML or JSON, with the entries of `ours` put in; all else stays as it is, comments too. An entry of the same name is replaced if it
 * is of the same installation; ALREADY_EXISTS if it is anybody else's. The current context stays; only where there is none, ours becomes it.
 * INVALID_ARGUMENT for a text that is no kubeconfig. `where` is how errors name it.
 */
export function mergeKubeconfig(text: string, ours: Kubeconfig, where: string): string {
  const document = readKubeconfig(text, where);
  const lists = Object.fromEntries(LISTS.map((list) => [list, listOf(document, list, where)])) as Record<List, YAMLSeq>;
  refuseForeign(lists, ours, where);
  for (const list of LISTS) for (const entry of ours[list]) put(document, lists[list], entry);
  const current = ours['current-context'];
  if (current !== undefined && !document.get('current-context')) document.set('current-context', current);
  return document.toString({ lineWidth: 0 });
}

function readKubeconfig(text: string, where: string): Document {
  if (text.trim() === '') return parseDocument('apiVersion: v1\nkind: Config\n');
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error) throw notOne(where, error.message.split('\n', 1)[0] ?? '');
  if (!isMap(document.contents)) throw notOne(where, 'it is not a map');
  const kind = document.get('kind');
  if (kind !== undefined && kind !== 'Config') throw notOne(where, `its kind is not Config`);
  return document;
}

/** Made if it is not there, or empty. */
function listOf(document: Document, list: List, where: string): YAMLSeq {
  const found: unknown = document.get(list);
  if (found === undefined || found === null) {
    const made = document.createNode([]) as YAMLSeq;
    document.set(list, made);
    return made;
  }
  if (!isSeq(found)) throw notOne(where, `${list} is not a list`);
  if (found.items.every((item) => isMap(item))) return found;
  throw notOne(where, `${list} holds something that is not a map`);
}

function put(document: Document, list: YAMLSeq, entry: NamedEntry): void {
  const at = list.items.findIndex((item) => (item as YAMLMap).get('name') === entry.name);
  if (at === -1) list.flow = false;
  if (at === -1) list.add(document.createNode(entry));
  else list.set(at, document.createNode(entry));
}

/** Ours are the installation's users, contexts with them, and clusters that only such contexts use. */
function refuseForeign(lists: Record<List, YAMLSeq>, ours: Kubeconfig, where: string): void {
  const users = new Set(ours.users.flatMap(({ name }) => [name, nameOfAll(name)]));
  const contexts = lists.contexts.items.map((item) => item as YAMLMap);
  const isOurs = (context: YAMLMap): boolean => users.has(String(context.getIn(['context', 'user'])));
  const foreign: Readonly<Record<'contexts' | 'clusters', (entry: YAMLMap) => boolean>> = {
    contexts: (context) => !isOurs(context),
    clusters: (cluster) => {
      const using = contexts.filter((context) => context.getIn(['context', 'cluster']) === cluster.get('name'));
      return using.length === 0 || !using.every(isOurs);
    },
  };
  for (const list of ['contexts', 'clusters'] as const) {
    const names = new Set(ours[list].map(({ name }) => name));
    const taken = lists[list].items.find((item) => {
      const entry = item as YAMLMap;
      return names.has(String(entry.get('name'))) && foreign[list](entry);
    });
    if (taken) throw isForeign(list, String((taken as YAMLMap).get('name')), where);
  }
}

/** Before each cluster had a user of its own, all of an installation had this one. */
function nameOfAll(user: string): string {
  return `fairlead@${user.slice(user.indexOf('@') + 1)}`;
}

function isForeign(list: List, name: string, where: string): Error {
  const rename = `rename it there (kubectl config rename-context ${name} OTHER)`;
  return failure(
    'ALREADY_EXISTS',
    `${where} has an entry ${name} in ${list} that is not of this installation`,
    `${list === 'contexts' ? rename : 'rename it there'}, or write another file with --output`,
  );
}

function notOne(where: string, why: string): Error {
  return failure(
    'INVALID_ARGUMENT',
    `${where} is no kubeconfig: ${why}`,
    'mend it, or write another file with --output',
  );
}
