import { readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/**
 * What is in a bundle, as CycloneDX 1.5 (https://cyclonedx.org): the packages whose code went in, which are fewer than those that are installed, and the
 * Node that runs it. The same of the same bundle: no time, no number of its own. What the base image holds besides is not in it.
 *
 * `packages`: their folders.
 */
export function sbomOf({ app, version, packages, root }) {
  const { packages: locked } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const components = packages.map((folder) => component(folder, locked[relative(root, folder).split(sep).join('/')]));
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': `fairlead-${app}@${version}`,
        name: `fairlead-${app}`,
        version,
        licenses: [{ expression: 'Apache-2.0' }],
      },
    },
    components: [node(), ...components.sort((a, b) => (a.purl < b.purl ? -1 : 1))],
  };
}

function node() {
  const version = process.version.slice(1);
  const purl = `pkg:generic/node@${version}`;
  return { type: 'platform', 'bom-ref': purl, name: 'node', version, purl };
}

function component(folder, entry) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const [group, own] = name.startsWith('@') ? name.split('/') : [undefined, name];
  const purl = `pkg:npm/${group ? `${group.replace('@', '%40')}/` : ''}${own}@${version}`;
  return {
    type: 'library',
    'bom-ref': purl,
    ...(group ? { group } : {}),
    name: own,
    version,
    purl,
    ...(typeof license === 'string' ? { licenses: [{ expression: license }] } : {}),
    ...hashOf(entry),
  };
}

/** Of the package as the registry gave it, by the lock file. */
function hashOf({ integrity } = {}) {
  const [, content] = /^sha512-(\S+)$/.exec(integrity ?? '') ?? [];
  return content ? { hashes: [{ alg: 'SHA-512', content: Buffer.from(content, 'base64').toString('hex') }] } : {};
}
