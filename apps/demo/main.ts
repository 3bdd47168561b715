import { runProcess } from '@fairlead/config';
import { readJoinConfig, readKeysConfig } from './config.js';
import { join } from './join.js';
import { makeKeys } from './make-keys.js';

if (process.argv[2] === 'keys') {
  void runProcess({ name: 'demo', readConfig: readKeysConfig, run: makeKeys, commands: { keys: makeKeys } });
} else {
  void runProcess({ name: 'demo', readConfig: readJoinConfig, run: join, commands: { join } });
}
