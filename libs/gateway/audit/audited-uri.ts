import type { RequestAttributes } from '@fairlead/access-rules';

const FLAG = /^(true|false|1|0|t|f)?$/i;
const NUMBER = /^\d{1,15}$/;
const WORD = /^[A-Za-z]{1,32}$/;
/** A selector, a name or a place in a list: what Kubernetes' own audit log keeps, too. */
const TEXT = /^.*$/s;

/**
 * Query parameters that a kube-apiserver reads (k8s.io/apimachinery `meta/v1`, k8s.io/api `core/v1`, 0.34), and which values of them it knows. The command of an exec is not among
 * them: it has a place of its own in a record.
 */
const READ_BY_KUBERNETES: ReadonlyMap<string, RegExp> = new Map([
  ['allowWatchBookmarks', FLAG],
  ['container', TEXT],
  ['continue', TEXT],
  ['dryRun', WORD],
  ['fieldManager', TEXT],
  ['fieldSelector', TEXT],
  ['fieldValidation', WORD],
  ['follow', FLAG],
  ['force', FLAG],
  ['gracePeriodSeconds', NUMBER],
  ['insecureSkipTLSVerifyBackend', FLAG],
  ['labelSelector', TEXT],
  ['limit', NUMBER],
  ['limitBytes', NUMBER],
  ['orphanDependents', FLAG],
  ['ports', /^[\d,]{1,256}$/],
  ['pretty', FLAG],
  ['previous', FLAG],
  ['propagationPolicy', WORD],
  ['resourceVersion', TEXT],
  ['resourceVersionMatch', WORD],
  ['sendInitialEvents', FLAG],
  ['sinceSeconds', NUMBER],
  ['sinceTime', TEXT],
  ['stderr', FLAG],
  ['stdin', FLAG],
  ['stdout', FLAG],
  ['stream', WORD],
  ['tailLines', NUMBER],
  ['timeout', /^\d{1,9}[smh]?$/],
  ['timeoutSeconds', NUMBER],
  ['timestamps', FLAG],
  ['tty', FLAG],
  ['watch', FLAG],
]);

/** More of a query than any client sends is left out, and so is the rest of the text that a record has room for. */
const MAX_PARAMETERS = 64;
const MAX_CHARACTERS = 2_048;

/**
 * A request's path and query, for the audit: as they came, but that of a query only parameters of Kubernetes keep their values, and only those that mean something to it. A proxied request is for something else, which reads
 * them in its own way: of its query nothing is kept but that there is one.
 */
export function auditedUri(target: string, attributes: RequestAttributes | undefined): string {
  const at = target.indexOf('?');
  if (at < 0) return target.slice(0, MAX_CHARACTERS);
  const path = target.slice(0, at);
  const isKubernetes = attributes?.kind === 'resource' && !isProxied(attributes);
  const query = target.slice(at + 1, at + 1 + MAX_CHARACTERS * 2);
  const kept = isKubernetes ? query.split('&').slice(0, MAX_PARAMETERS).map(keptOf).join('&') : REDACTED;
  return `${path}?${kept}`.slice(0, MAX_CHARACTERS);
}

const REDACTED = '_';

function keptOf(pair: string): string {
  const [name = '', value = ''] = pair.split(/=(.*)/s);
  if (READ_BY_KUBERNETES.get(name)?.test(value)) return pair;
  // A name that is no word may be the secret itself.
  return pair.includes('=') && /^[A-Za-z][A-Za-z0-9._-]{0,63}$/.test(name) ? `${name}=${REDACTED}` : REDACTED;
}

function isProxied({ subresource, verb }: Extract<RequestAttributes, { kind: 'resource' }>): boolean {
  return subresource === 'proxy' || verb === 'proxy';
}
