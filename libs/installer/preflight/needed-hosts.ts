import { MAX_PREFLIGHT_HOSTS, type GitOpsSpec, type HostReach } from '@fairlead/desired-state';
import type { KubeObject } from '@fairlead/kube/rest';
import { rewritten, withContainers } from '../bundle/pod-template.js';

/** A host that something in the cluster will dial. */
export interface NeededHost {
  readonly kind: HostReach['kind'];
  /** A name or an address, without brackets. */
  readonly host: string;
  readonly port: number;
}

const REGISTRY_PORT = 443;
const SSH_PORT = 22;
/** Where nodes go for `docker.io/…`, and for images without a registry: https://hub.docker.com is another host. */
const DOCKER_HUB = 'registry-1.docker.io';
const DOCKER_NAMES: ReadonlySet<string> = new Set(['docker.io', 'index.docker.io']);
/** A host with or without a port, as image references have it: https://pkg.go.dev/github.com/distribution/reference */
const AUTHORITY = /^(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?))(?::([0-9]{1,5}))?$/;

/** The Git host of a spec, and the registries of these objects' images as they are pulled: with the spec's rewriting. */
export function neededHosts(
  objects: readonly KubeObject[],
  { images, source }: Pick<GitOpsSpec, 'images' | 'source'>,
): NeededHost[] {
  const git = source && gitHostOf(source.url);
  const registries = imagesOf(objects).map((image) => registryOf(rewritten(image, images.rewrite)));
  const hosts = [git, ...registries].filter((each) => each !== null);
  return [...new Map(hosts.map((each) => [`${each.kind} ${shownHost(each)}`, each])).values()].slice(
    0,
    MAX_PREFLIGHT_HOSTS,
  );
}

/** As it is told: with its port, unless that is of HTTPS. */
export function shownHost({ host, port }: Pick<NeededHost, 'host' | 'port'>): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return port === REGISTRY_PORT ? name : `${name}:${port}`;
}

function imagesOf(objects: readonly KubeObject[]): string[] {
  const images = new Set<string>();
  for (const object of objects) {
    withContainers(object, (container) => {
      if (typeof container.image === 'string') images.add(container.image);
      return container;
    });
  }
  return [...images].toSorted();
}

/** The first part is a registry only if it looks like a host; otherwise it is a name on Docker Hub. Null: no node can pull that. */
function registryOf(image: string): NeededHost | null {
  const slash = image.indexOf('/');
  const first = slash === -1 ? '' : image.slice(0, slash);
  const isHost = /[.:]/.test(first) || first === 'localhost';
  if (!isHost || DOCKER_NAMES.has(first)) return { kind: 'registry', host: DOCKER_HUB, port: REGISTRY_PORT };
  return hostOf('registry', first, REGISTRY_PORT);
}

function gitHostOf(url: string): NeededHost | null {
  return URL.canParse(url) ? hostOf('git', new URL(url).host, SSH_PORT) : null;
}

function hostOf(kind: NeededHost['kind'], authority: string, usualPort: number): NeededHost | null {
  const [, address, name, portText] = AUTHORITY.exec(authority) ?? [];
  const host = address ?? name;
  const port = portText === undefined ? usualPort : Number(portText);
  return host === undefined || port < 1 || port > 65_535 ? null : { kind, host, port };
}
