import { readAttributes } from '../read-attributes.js';

/** `verb group/resource/subresource namespace name`, a dash for what there is not; or `verb path`. */
export function told(method: string, target: string): string {
  const read = readAttributes(method, target);
  if (read.kind === 'url') return `${read.verb} ${read.path}`;
  const or = (text: string): string => text || '-';
  const { verb, apiGroup, resource, subresource, namespace, name } = read;
  return [or(verb), `${or(apiGroup)}/${resource}/${or(subresource)}`, or(namespace), or(name)].join(' ');
}

const DEPLOYMENTS = '/apis/apps/v1/namespaces/shop/deployments';
const WEB = '/api/v1/namespaces/shop/pods/web';

/** Method, target, and what they are read as. A real kube-apiserver is asked for each of them, too. */
export const REQUESTS: readonly (readonly [method: string, target: string, told: string])[] = [
  // Collections.
  ['GET', '/api/v1/pods', 'list -/pods/- - -'],
  ['HEAD', '/api/v1/pods', 'list -/pods/- - -'],
  ['GET', '/api/v1/pods/', 'list -/pods/- - -'],
  ['GET', '/api/v1/pods?limit=500', 'list -/pods/- - -'],
  ['GET', '/api/v1/namespaces/shop/pods', 'list -/pods/- shop -'],
  ['POST', '/api/v1/namespaces/shop/pods', 'create -/pods/- shop -'],
  ['DELETE', '/api/v1/namespaces/shop/pods', 'deletecollection -/pods/- shop -'],
  ['DELETE', '/api/v1/namespaces/shop/pods?fieldSelector=metadata.name%3Dweb', 'deletecollection -/pods/- shop -'],
  ['PATCH', '/api/v1/namespaces/shop/pods', 'patch -/pods/- shop -'],
  ['GET', DEPLOYMENTS, 'list apps/deployments/- shop -'],
  ['GET', '/apis/apps/v1/deployments', 'list apps/deployments/- - -'],
  ['GET', '/apis/metrics.k8s.io/v1beta1/nodes', 'list metrics.k8s.io/nodes/- - -'],
  // Objects.
  ['GET', WEB, 'get -/pods/- shop web'],
  ['HEAD', WEB, 'get -/pods/- shop web'],
  ['PUT', WEB, 'update -/pods/- shop web'],
  ['PATCH', `${DEPLOYMENTS}/web?fieldManager=me`, 'patch apps/deployments/- shop web'],
  ['DELETE', WEB, 'delete -/pods/- shop web'],
  ['GET', '/api/v1/nodes/n1', 'get -/nodes/- - n1'],
  ['OPTIONS', WEB, '- -/pods/- shop web'],
  // Subresources.
  ['GET', `${WEB}/log?follow=true`, 'get -/pods/log shop web'],
  ['GET', `${WEB}/status`, 'get -/pods/status shop web'],
  ['POST', `${WEB}/exec?command=ls&command=-l&stdin=true`, 'create -/pods/exec shop web'],
  ['GET', `${WEB}/exec?command=ls`, 'get -/pods/exec shop web'],
  ['GET', `${WEB}/attach`, 'get -/pods/attach shop web'],
  ['GET', `${WEB}/portforward?ports=80`, 'get -/pods/portforward shop web'],
  ['POST', `${WEB}/eviction`, 'create -/pods/eviction shop web'],
  ['POST', '/api/v1/namespaces/shop/serviceaccounts/ci/token', 'create -/serviceaccounts/token shop ci'],
  ['PUT', `${DEPLOYMENTS}/web/scale`, 'update apps/deployments/scale shop web'],
  ['GET', '/api/v1/namespaces/shop/services/https:web:443/proxy/a//b?x=1;y', 'get -/services/proxy shop https:web:443'],
  ['GET', '/api/v1/nodes/n1/proxy/logs/', 'get -/nodes/proxy - n1'],
  ['DELETE', '/api/v1/nodes/n1/proxy', 'delete -/nodes/proxy - n1'],
  // Namespaces are in themselves.
  ['GET', '/api/v1/namespaces', 'list -/namespaces/- - -'],
  ['GET', '/api/v1/namespaces/shop', 'get -/namespaces/- shop shop'],
  ['DELETE', '/api/v1/namespaces/shop', 'delete -/namespaces/- shop shop'],
  ['GET', '/api/v1/namespaces/shop/status', 'get -/namespaces/status shop shop'],
  ['PUT', '/api/v1/namespaces/shop/finalize', 'update -/namespaces/finalize shop shop'],
  ['GET', '/apis/apps/v1/namespaces', 'list apps/namespaces/- - -'],
  // Watches.
  ['GET', '/api/v1/pods?watch=1', 'watch -/pods/- - -'],
  ['GET', '/api/v1/pods?watch=true', 'watch -/pods/- - -'],
  ['GET', '/api/v1/pods?watch', 'watch -/pods/- - -'],
  ['GET', '/api/v1/pods?watch=', 'watch -/pods/- - -'],
  ['GET', '/api/v1/pods?%77atch=yes', 'watch -/pods/- - -'],
  ['GET', '/api/v1/pods?watch=0', 'list -/pods/- - -'],
  ['GET', '/api/v1/pods?watch=FALSE', 'list -/pods/- - -'],
  ['GET', '/api/v1/pods?Watch=1', 'list -/pods/- - -'],
  ['GET', `${WEB}?watch=1`, 'get -/pods/- shop web'],
  ['GET', '/api/v1/watch/pods', 'watch -/pods/- - -'],
  ['GET', '/api/v1/watch/namespaces/shop/pods', 'watch -/pods/- shop -'],
  ['GET', '/api/v1/watch/namespaces/shop/pods/web', 'watch -/pods/- shop web'],
  ['GET', '/api/v1/watch/namespaces/shop', 'watch -/namespaces/- shop shop'],
  ['GET', '/apis/apps/v1/watch/deployments', 'watch apps/deployments/- - -'],
  ['DELETE', '/api/v1/watch/pods', 'watch -/pods/- - -'],
  ['GET', '/api/v1/proxy/namespaces/shop/pods/web/exec', 'proxy -/pods/- shop web'],
  // One object by a field selector.
  ['GET', '/api/v1/pods?fieldSelector=metadata.name%3Dweb', 'list -/pods/- - web'],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name=web', 'list -/pods/- - web'],
  ['GET', '/api/v1/pods?watch=1&fieldSelector=metadata.name%3D%3Dweb', 'watch -/pods/- - web'],
  ['GET', '/api/v1/pods?fieldSelector=spec.nodeName%3Dn1,metadata.name%3Dweb', 'list -/pods/- - web'],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name%21%3Dweb', 'list -/pods/- - -'],
  ['GET', '/api/v1/pods?fieldSelector=metadata.namespace%3Dshop', 'list -/pods/- - -'],
  ['GET', '/api/v1/watch/pods?fieldSelector=metadata.name%3Dweb', 'watch -/pods/- - -'],
  // Escapes mean what they stand for.
  ['GET', '/%61pi/v1/namespaces/sh%6Fp/secrets', 'list -/secrets/- shop -'],
  ['GET', '/api/v1/namespaces/shop/pods/%252e', 'get -/pods/- shop %2e'],
  // No resources.
  ['GET', '/', 'get /'],
  ['GET', '/api', 'get /api'],
  ['GET', '/api/v1', 'get /api/v1'],
  ['GET', '/api/v1/', 'get /api/v1/'],
  ['GET', '/apis/apps/v1', 'get /apis/apps/v1'],
  ['GET', '/apis/apps', 'get /apis/apps'],
  ['GET', '/API/v1/pods', 'get /API/v1/pods'],
  ['POST', '/metrics/x?y=1', 'post /metrics/x'],
  ['HEAD', '/healthz/etcd', 'head /healthz/etcd'],
  ['GET', '/openapi/v3/apis/apps/v1', 'get /openapi/v3/apis/apps/v1'],
];
