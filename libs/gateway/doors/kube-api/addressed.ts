import { METHODS } from 'node:http';
import { FairleadError } from '@fairlead/errors';
import { headerValues, parseKubePath, readAskedHost, whyAmbiguous, type AskedHost } from '@fairlead/kube-http';
import { clientAddressOf, type ConnectionEnds } from '@fairlead/limits';
import { readTraceparent } from '@fairlead/tunnel/core';
import type { Arrival } from '../../passage/passage.js';
import { userAgentOf } from '../../passage/user-agent.js';
import { serverNameOf } from './door-connections.js';
import type { DoorRequest } from './door-request.js';

/** Which cluster a request is for, and what to ask there. */
export interface ClusterAddress {
  readonly cluster: string;
  /** Where the cluster begins at this host: `/clusters/<name>`, or nothing at a host name of its own. */
  readonly below: string;
  /** Path and query for the kube-apiserver, as they came. */
  readonly target: string;
}

/** Whom the host of a request is for. */
export function askedHostOf(incoming: DoorRequest, clusterDomain: string | undefined): AskedHost {
  return readAskedHost({ rawHeaders: incoming.rawHeaders, serverName: serverNameOf(incoming), clusterDomain });
}

/**
 * Throws INVALID_ARGUMENT for a host or a path that two parsers could read differently, MISDIRECTED for a request on a connection that was opened
 * for another host, NOT_FOUND for a path that is no cluster's.
 */
export function addressOf(host: AskedHost, rawTarget: string): ClusterAddress {
  if (host.kind === 'cluster') return addressAtOwnHost(host.cluster, rawTarget);
  if (host.kind === 'shared') return addressInPath(rawTarget);
  if (host.kind === 'refused') throw new FairleadError('INVALID_ARGUMENT', host.why);
  throw new FairleadError(
    'MISDIRECTED',
    'the host of this request is not the one that its connection was opened for; open a connection for each cluster',
  );
}

/** At a host name of its own a path means what the kube-apiserver takes it for: `/clusters/…` too. */
function addressAtOwnHost(cluster: string, rawTarget: string): ClusterAddress {
  const why = whyAmbiguous(rawTarget);
  if (why !== null) throw new FairleadError('INVALID_ARGUMENT', why);
  return { cluster, below: '', target: rawTarget };
}

function addressInPath(rawTarget: string): ClusterAddress {
  const path = parseKubePath(rawTarget);
  if (path.kind === 'refused') throw new FairleadError('INVALID_ARGUMENT', path.why);
  if (path.kind === 'not-a-cluster') {
    throw new FairleadError(
      'NOT_FOUND',
      'the path must begin with /clusters/<name>/; make a kubeconfig with: fairlead kubeconfig <cluster>',
    );
  }
  const { cluster, target } = path;
  return { cluster, below: `/clusters/${cluster}`, target };
}

const IN_PATH = /^\/clusters\/([a-z0-9-]{1,63})(?:[/?]|$)/;
const IN_HOST = /^[a-z0-9-]{1,63}$/;

/** The cluster that somebody seems to ask for, as far as it may be told before anything is known of them; undefined if none can be read. */
function clusterNamed(host: AskedHost, rawTarget: string): string | undefined {
  if (host.kind === 'cluster') return IN_HOST.exec(host.cluster)?.[0];
  return host.kind === 'shared' ? IN_PATH.exec(rawTarget)?.[1] : undefined;
}

const KNOWN_METHODS = new Set(METHODS);
/** Over HTTP/2 a peer may make up a method as long as a head may be. */
const MAX_TOLD_METHOD = 16;

/** A request, as far as anybody may be told of it before it is admitted: never its path. */
export function arrivalOf(incoming: DoorRequest, dialler: ConnectionEnds, host: AskedHost): Arrival {
  const { method = '', url = '', rawHeaders } = incoming;
  const known = KNOWN_METHODS.has(method) ? method : '_OTHER';
  return {
    address: clientAddressOf(dialler),
    asked: {
      method: method.slice(0, MAX_TOLD_METHOD),
      cluster: clusterNamed(host, url),
      userAgent: userAgentOf(rawHeaders),
    },
    caller: readTraceparent(headerValues(rawHeaders, 'traceparent')),
    span: { name: known, attributes: { 'http.request.method': known } },
  };
}
