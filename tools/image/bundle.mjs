// Makes a few files of the compiled modules of an app and the packages it reaches, because finding, reading and compiling some
// 650 files is most of its start (docs/adr/0019). Beside them: what V8 compiled, source maps, and the licences of what is in.
//
//   node tools/image/bundle.mjs        # apps/<app>/dist/bundle/main.js of each app that people run
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BUNDLED, bundle } from './bundle-app.mjs';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
// One after the other: all at once take twice the memory, and more of a core.
for (const app of BUNDLED) await bundle(app, join(ROOT, 'apps', app, 'dist', 'bundle'));
