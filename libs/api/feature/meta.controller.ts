import type { Check } from '@fairlead/observability';
import { Controller, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { openapiDocument } from '../contract/openapi.js';
import { operations } from '../contract/operations.js';
import { Serve } from '../http/serve.js';
import { ApiSettings } from './settings.js';

@Controller()
export class MetaController {
  readonly #document: Record<string, unknown>;

  constructor(private readonly settings: ApiSettings) {
    this.#document = openapiDocument({ serverUrl: settings.publicUrl });
  }

  @Serve(operations.openapi)
  openapi(): Record<string, unknown> {
    return this.#document;
  }

  @Serve(operations.health)
  health(@Res({ passthrough: true }) reply: FastifyReply): string {
    void reply.type('text/plain; charset=utf-8');
    return 'ok\n';
  }

  @Serve(operations.readiness)
  readiness(@Res({ passthrough: true }) reply: FastifyReply): { ready: boolean; checks: readonly Check[] } {
    const checks = this.settings.readiness();
    const ready = checks.every((check) => check.ok);
    void reply.status(ready ? 200 : 503);
    return { ready, checks };
  }
}
