// The demo issuer as a process of the stack: `node main.js PORT`, on 127.0.0.1 until it is asked to end.
import { createLogger } from '@fairlead/observability';
import { startDemoIssuer } from './demo-issuer.js';

const issuer = await startDemoIssuer({ port: Number(process.argv[2]) });
createLogger('demo-issuer').info('demo_issuer.started', { url: issuer.url });
process.once('SIGTERM', () => void issuer[Symbol.asyncDispose]());
