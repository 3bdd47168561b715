import { Option, type Command } from 'commander';
import { collected } from '../commands/option-values.js';

/** Which requests of those that a role allows; what is left out says nothing. */
export interface Narrowing {
  readonly verbs?: readonly string[] | undefined;
  readonly apiGroups?: readonly string[] | undefined;
  readonly resources?: readonly string[] | undefined;
  readonly namespaces?: readonly string[] | undefined;
  readonly names?: readonly string[] | undefined;
  readonly nonResourceUrls?: readonly string[] | undefined;
}

export interface NarrowingOptions {
  readonly verb?: readonly string[];
  readonly apiGroup?: readonly string[];
  readonly resource?: readonly string[];
  readonly namespace?: readonly string[];
  readonly name?: readonly string[];
  readonly url?: readonly string[];
}

const OPTIONS = [
  ['-n, --namespace <namespace>', 'only in this namespace'],
  ['--verb <verb>', 'only this verb: get, list, watch, create, update, patch, delete, deletecollection'],
  ['--resource <resource>', 'only this resource, in the plural, such as pods or pods/log'],
  ['--api-group <group>', "only resources of this API group, such as apps; '' is the core group"],
  ['--name <name>', 'only objects of this name, which nobody can list'],
  ['--url <path>', "only this path that is no resource, such as '/metrics'; * at its end stands for whatever follows"],
] as const;

/** What narrows a role, in the words of RBAC; each may be repeated. */
export function addNarrowingOptions(command: Command): Command {
  for (const [flags, text] of OPTIONS)
    command.addOption(new Option(flags, `${text}; may be repeated`).argParser(collected));
  return command;
}

/** As the API takes it. */
export function narrowingOf(options: NarrowingOptions): Narrowing {
  const { verb: verbs, apiGroup: apiGroups, resource: resources, namespace: namespaces, name: names } = options;
  const said = Object.entries({ verbs, apiGroups, resources, namespaces, names, nonResourceUrls: options.url });
  return Object.fromEntries(said.filter(([, values]) => values !== undefined));
}

/** `get,list pods in shop`; empty if nothing is narrowed. */
export function narrowingText({ verbs, apiGroups, resources, namespaces, names, nonResourceUrls }: Narrowing): string {
  const groups = apiGroups?.map((group) => group || 'core');
  return [
    verbs?.join(','),
    resources?.join(','),
    groups && `of ${groups.join(',')}`,
    names && `named ${names.join(',')}`,
    namespaces && `in ${namespaces.join(',')}`,
    nonResourceUrls && `at ${nonResourceUrls.join(',')}`,
  ]
    .filter(Boolean)
    .join(' ');
}
