import { Controller, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { openapiDocument } from '../contract/openapi.js';
import { Asked, Serve, type Call } from '../http/serve.js';
import { ApiSettings } from './settings.js';

@Controller()
export class MetaController {
  readonly #document: ReturnType<typeof openapiDocument>;

  constructor(private readonly settings: ApiSettings) {
    this.#document = openapiDocument({ serverUrl: settings.publicUrl });
  }

  @Serve('whoami')
  whoami(@Asked() { principal }: Call<'whoami'>) {
    return principal;
  }

  @Serve('openapi')
  openapi() {
    return this.#document;
  }

  @Serve('health')
  health(@Res({ passthrough: true }) reply: FastifyReply): string {
    void reply.type('text/plain; charset=utf-8');
    return 'ok\n';
  }

  @Serve('readiness')
  readiness(@Res({ passthrough: true }) reply: FastifyReply) {
    const checks = [...this.settings.readiness()];
    const ready = checks.every((check) => check.ok);
    void reply.status(ready ? 200 : 503);
    return { ready, checks };
  }
}
