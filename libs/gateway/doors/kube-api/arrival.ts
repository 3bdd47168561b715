import { METHODS } from 'node:http';
import type { AskedHost } from '@fairlead/kube-http';
import type { ConnectionEnds } from '@fairlead/limits';
import type { Arrival } from '../../passage/passage.js';
import { callerOf } from '../../passage/request-trace.js';
import { clusterNamed } from './addressed.js';
import type { DoorRequest } from './door-request.js';

const KNOWN_METHODS = new Set(METHODS);
/** Over HTTP/2 a peer may make up a method as long as a head may be. */
const MAX_TOLD_METHOD = 16;

/** A request, as far as anybody may be told of it before it is admitted: never its path. */
export function arrivalOf(incoming: DoorRequest, { remoteAddress }: ConnectionEnds, host: AskedHost): Arrival {
  const { method = '', url = '', rawHeaders } = incoming;
  const known = KNOWN_METHODS.has(method) ? method : '_OTHER';
  return {
    address: remoteAddress ?? '',
    asked: { method: method.slice(0, MAX_TOLD_METHOD), cluster: clusterNamed(host, url) },
    caller: callerOf(rawHeaders),
    span: { name: known, attributes: { 'http.request.method': known } },
  };
}
