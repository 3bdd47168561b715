import type { Readable } from 'node:stream';
import type { AuditFilter, Principal } from '@fairlead/contracts';
import { Controller, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Admission } from '../auth/admission.js';
import { lastEventId } from '../contract/audit-stream-operations.js';
import { operations } from '../contract/operations.js';
import type { ApiRequest } from '../http/api-request.js';
import { Asked, Serve, type Call } from '../http/serve.js';
import { exportFormat } from '../streams/export-formats.js';
import { exportPieces } from '../streams/export.js';
import { LogReader } from '../streams/log-reader.js';
import { OpenStreams, type StreamKind } from '../streams/open-streams.js';
import { streamOf } from '../streams/send-stream.js';
import { StreamAccess } from '../streams/stream-access.js';
import { StreamPace } from '../streams/stream-pace.js';
import { tailEvents } from '../streams/tail.js';
import { Backend } from './backend.js';

const OPERATIONS = { tail: operations.tailAudit, export: operations.exportAudit } as const;

/** A tenant's audit log as it grows, and all that is in it. */
@Controller()
export class AuditStreamsController {
  constructor(
    private readonly backend: Backend,
    private readonly admission: Admission,
    private readonly streams: OpenStreams,
    private readonly pace: StreamPace,
  ) {}

  @Serve('tailAudit')
  async tail(
    @Asked() { principal, query: { after, ...filter } }: Call<'tailAudit'>,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Readable> {
    const { log, access, ends } = this.#open('tail', principal, filter, request);
    // As EventSource sends it: its URL is the one of the first time.
    const from = lastEventId(request.headers) ?? after;
    const stream = await streamOf(request, reply, ends, (signal) => {
      const untilMore = (at: number): Promise<void> => this.pace.untilMore(principal.tenantId, at, signal);
      return tailEvents(from, { log, access, untilMore, signal });
    });
    // Else nginx keeps what comes until it is more.
    void reply.header('x-accel-buffering', 'no').type('text/event-stream');
    return stream;
  }

  @Serve('exportAudit')
  async export(
    @Asked() { principal, query: { after, format: named, ...filter } }: Call<'exportAudit'>,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Readable> {
    const format = exportFormat(named, request.headers.accept);
    const { log, access, ends } = this.#open('export', principal, filter, request);
    const stream = await streamOf(request, reply, ends, (signal) =>
      exportPieces(after, { log, access, format, signal }),
    );
    void reply.header('content-disposition', `attachment; filename="audit.${format.extension}"`);
    void reply.header('vary', 'accept').type(format.mediaType);
    return stream;
  }

  #open(kind: StreamKind, principal: Principal, filter: AuditFilter, request: ApiRequest) {
    const log = new LogReader(this.backend, this.pace.clock, principal.tenantId, filter);
    const admit = (): Promise<unknown> => this.admission.admit(OPERATIONS[kind], request);
    const access = new StreamAccess(this.pace.clock, this.pace.checkEveryMs, admit);
    const opened = this.streams.open(kind, principal);
    return { log, access, ends: { draining: opened.draining, onEnd: () => opened.close() } };
  }
}
