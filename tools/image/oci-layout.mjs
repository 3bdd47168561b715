import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { sha256 } from './sign.mjs';

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const CONFIG = 'application/vnd.oci.image.config.v1+json';
const LAYER = 'application/vnd.oci.image.layer.v1.tar+gzip';
const INDEX = 'application/vnd.oci.image.index.v1+json';
const GZIP = Buffer.from([0x1f, 0x8b]);

/**
 * Writes what `docker save` made as an OCI image layout, whose manifest has the digest that a registry will show: layers are compressed here, once,
 * and whoever pushes it pushes these very bytes. An engine has no such digest before it pushes. Returns the digest, the manifest's size in all, and
 * the configuration. Throws if a layer is not the one that the configuration names.
 */
export function writeLayout(saved, layout, tag) {
  const dir = mkdtempSync(join(tmpdir(), 'fairlead-image-'));
  try {
    execFileSync('tar', ['-xf', saved, '-C', dir]);
    const [image, another] = JSON.parse(readFileSync(join(dir, 'manifest.json'), 'utf8'));
    if (!image || another) throw new Error(`${saved} has to hold one image`);
    mkdirSync(join(layout, 'blobs', 'sha256'), { recursive: true });
    const config = readFileSync(join(dir, image.Config));
    const { rootfs, ...settings } = JSON.parse(config);
    if (rootfs.diff_ids.length !== image.Layers.length) throw new Error(`${saved} lacks layers of its configuration`);
    const layers = image.Layers.map((name, at) => layer(readFileSync(join(dir, name)), rootfs.diff_ids[at]));
    const blobs = layers.map((bytes) => put(layout, LAYER, bytes));
    const manifest = { schemaVersion: 2, mediaType: MANIFEST, config: put(layout, CONFIG, config), layers: blobs };
    const described = put(layout, MANIFEST, Buffer.from(JSON.stringify(manifest)));
    const annotations = { 'org.opencontainers.image.ref.name': tag };
    const index = { schemaVersion: 2, mediaType: INDEX, manifests: [{ ...described, annotations }] };
    writeFileSync(join(layout, 'index.json'), JSON.stringify(index));
    writeFileSync(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
    return { digest: described.digest, bytes: blobs.reduce((sum, { size }) => sum + size, 0), settings };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Compressed; newer engines save layers as they have them, which may be compressed already. */
function layer(bytes, diffId) {
  const isCompressed = bytes.subarray(0, 2).equals(GZIP);
  const plain = isCompressed ? gunzipSync(bytes) : bytes;
  if (`sha256:${sha256(plain)}` !== diffId) throw new Error(`a layer is not ${diffId}`);
  return isCompressed ? bytes : gzipSync(bytes, { level: 9 });
}

function put(layout, mediaType, bytes) {
  const hex = sha256(bytes);
  writeFileSync(join(layout, 'blobs', 'sha256', hex), bytes);
  return { mediaType, digest: `sha256:${hex}`, size: bytes.length };
}
