// Makes what an app's image holds beside Node: its bundle, laid out as in the repository, which needs nothing beside it
// (docs/adr/0019).
//
//   node tools/image/assemble.mjs agent /out/agent
import { join } from 'node:path';
import { bundle } from './bundle-app.mjs';

const [app, out] = process.argv.slice(2);
if (!app || !out) throw new Error('usage: node tools/image/assemble.mjs <app> <folder>');

/** Whom the images run as. What V8 compiled is kept by user; only root can make it for another one. */
const IMAGE_USER = process.getuid?.() === 0 ? { uid: 65_532, gid: 65_532 } : undefined;
await bundle(app, join(out, 'apps', app, 'dist', 'bundle'), IMAGE_USER);
