import type { RequestAttributes, ResourceRequest, UrlRequest } from './request-attributes.js';
import type { Narrowing } from './rule.js';

const PROXY = 'proxy';
/**
 * Subresources that run something, or lead further, whatever the method: a WebSocket is opened by GET. Those of pods and nodes are Kubernetes', the
 * last four KubeVirt's.
 */
const COUNT_AS_CREATE = new Set(['exec', 'attach', 'portforward', PROXY, 'console', 'vnc', 'usbredir', 'vsock']);

/** A narrowing, as it is looked at for each request. Undefined: it says nothing of that. Lists are short, and there are very many: no sets. */
export interface CompiledNarrowing {
  readonly verbs?: readonly string[] | undefined;
  readonly apiGroups?: readonly string[] | undefined;
  readonly resources?: readonly string[] | undefined;
  readonly namespaces?: readonly string[] | undefined;
  readonly names?: readonly string[] | undefined;
  readonly urls?: { readonly exact: readonly string[]; readonly prefixes: readonly string[] } | undefined;
  /** It speaks of resources, or of URLs: then of nothing else, unless of both. */
  readonly ofResources: boolean;
  readonly ofUrls: boolean;
  /** It leaves nothing out. */
  readonly isEverything: boolean;
}

/** `*` says as much as nothing. */
export function compileNarrowing(narrowing: Narrowing): CompiledNarrowing {
  const { verbs, apiGroups, resources, namespaces, names, nonResourceUrls } = narrowing;
  const ofUrls = nonResourceUrls !== undefined;
  const ofResources = [apiGroups, resources, namespaces, names].some((items) => items !== undefined);
  const compiled = {
    verbs: unlessAll(verbs),
    apiGroups: unlessAll(apiGroups),
    resources: unlessAll(resources),
    namespaces: unlessAll(namespaces),
    // A star is the name of no object, and says nothing special in RBAC.
    names,
    urls: nonResourceUrls?.includes('*') === false ? compileUrls(nonResourceUrls) : undefined,
  };
  const isNarrow = Object.values(compiled).some((part) => part !== undefined);
  return { ...compiled, ofUrls, ofResources, isEverything: !isNarrow && ofUrls === ofResources };
}

function unlessAll(items: readonly string[] | undefined): readonly string[] | undefined {
  return items?.includes('*') ? undefined : items;
}

function compileUrls(urls: readonly string[]): CompiledNarrowing['urls'] {
  return {
    exact: urls,
    prefixes: urls.filter((url) => url.endsWith('*')).map((url) => url.replace(/\*+$/, '')),
  };
}

/**
 * Does a request lie within a narrowing, by the rules of RBAC? One that runs something has to be allowed to `create` as well, and so has a server-side apply: the cluster,
 * which asks for that where the object is not there, knows only the groups, and not what they were narrowed to.
 */
export function holds(narrowing: Narrowing, attributes: RequestAttributes): boolean {
  return isWithin(compileNarrowing(narrowing), attributes);
}

/** The same, of one that is used often. */
export function isWithin(narrowing: CompiledNarrowing, attributes: RequestAttributes): boolean {
  const { verbs } = narrowing;
  if (verbs && !verbs.includes(attributes.verb)) return false;
  if (attributes.kind === 'url') return meansUrl(narrowing, attributes);
  if (verbs && (countsAsCreate(attributes) || attributes.mayCreate === 'apply') && !verbs.includes('create'))
    return false;
  return meansKind(narrowing, attributes) && meansPlace(narrowing, attributes);
}

/**
 * Could a request reach what a denial names? More than what lies within it: a list of all namespaces shows those that are denied, and a list without a
 * name whatever is named; and what counts as `create` is denied with it, by whatever method it comes.
 */
export function reaches(narrowing: CompiledNarrowing, attributes: RequestAttributes): boolean {
  const { verbs } = narrowing;
  if (attributes.kind === 'url') return (!verbs || verbs.includes(attributes.verb)) && meansUrl(narrowing, attributes);
  if (verbs && !verbs.includes(attributes.verb) && !(verbs.includes('create') && mayCreate(attributes))) return false;
  return meansKind(narrowing, attributes) && reachesPlace(narrowing, attributes);
}

/** Whoever may do this runs something there: it is allowed and denied as `create`, whatever its method. */
export function countsAsCreate({ verb, subresource }: ResourceRequest): boolean {
  return verb === PROXY || COUNT_AS_CREATE.has(subresource);
}

/** A denial of `create` is of all that might. */
function mayCreate(attributes: ResourceRequest): boolean {
  return countsAsCreate(attributes) || attributes.mayCreate !== undefined;
}

function meansUrl({ urls, ofUrls, ofResources }: CompiledNarrowing, { path }: UrlRequest): boolean {
  if (!ofUrls) return !ofResources;
  return !urls || urls.exact.includes(path) || urls.prefixes.some((prefix) => path.startsWith(prefix));
}

function meansKind(narrowing: CompiledNarrowing, { apiGroup, resource, subresource }: ResourceRequest): boolean {
  const { apiGroups, resources, ofUrls, ofResources } = narrowing;
  if (ofUrls && !ofResources) return false;
  if (apiGroups && !apiGroups.includes(apiGroup)) return false;
  if (!resources) return true;
  if (subresource === '') return resources.includes(resource);
  return resources.includes(`${resource}/${subresource}`) || resources.includes(`*/${subresource}`);
}

function meansPlace({ namespaces, names }: CompiledNarrowing, { namespace, name }: ResourceRequest): boolean {
  return (!namespaces || namespaces.includes(namespace)) && (!names || names.includes(name));
}

const OF_MANY = new Set(['list', 'watch', 'deletecollection']);

function reachesPlace({ namespaces, names }: CompiledNarrowing, attributes: ResourceRequest): boolean {
  const { verb, namespace, name } = attributes;
  const isOfMany = OF_MANY.has(verb);
  const everywhere = isOfMany && namespace === '' && !isOfWholeCluster(attributes);
  return (
    (!namespaces || namespaces.includes(namespace) || everywhere) &&
    (!names || namesOf(attributes).some((each) => names.includes(each)) || (isOfMany && name === ''))
  );
}

/** What a proxy leads to may be named with its scheme and port: `https:web:8443`, `web:8443` and `web` are one. No name of theirs holds a colon. */
function namesOf({ verb, subresource, name }: ResourceRequest): readonly string[] {
  const isProxy = verb === PROXY || subresource === PROXY;
  return isProxy && name.includes(':') ? [name, ...name.split(':')] : [name];
}

/** Kubernetes' own resources that are in no namespace. Of any other one a list without a namespace may be of all namespaces. */
const OF_WHOLE_CLUSTER = new Set([
  'componentstatuses.',
  'namespaces.',
  'nodes.',
  'persistentvolumes.',
  'apiservices.apiregistration.k8s.io',
  'certificatesigningrequests.certificates.k8s.io',
  'clusterrolebindings.rbac.authorization.k8s.io',
  'clusterroles.rbac.authorization.k8s.io',
  'csidrivers.storage.k8s.io',
  'csinodes.storage.k8s.io',
  'customresourcedefinitions.apiextensions.k8s.io',
  'flowschemas.flowcontrol.apiserver.k8s.io',
  'ingressclasses.networking.k8s.io',
  'mutatingwebhookconfigurations.admissionregistration.k8s.io',
  'nodes.metrics.k8s.io',
  'priorityclasses.scheduling.k8s.io',
  'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io',
  'runtimeclasses.node.k8s.io',
  'storageclasses.storage.k8s.io',
  'validatingadmissionpolicies.admissionregistration.k8s.io',
  'validatingadmissionpolicybindings.admissionregistration.k8s.io',
  'validatingwebhookconfigurations.admissionregistration.k8s.io',
  'volumeattachments.storage.k8s.io',
]);

function isOfWholeCluster({ resource, apiGroup }: ResourceRequest): boolean {
  return OF_WHOLE_CLUSTER.has(`${resource}.${apiGroup}`);
}
