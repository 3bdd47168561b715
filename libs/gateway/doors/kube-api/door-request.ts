import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';

/** A request at the Kubernetes API door, and its answer, by HTTP/1.1 or HTTP/2. */
export type DoorRequest = IncomingMessage | Http2ServerRequest;
export type DoorResponse = ServerResponse | Http2ServerResponse;
