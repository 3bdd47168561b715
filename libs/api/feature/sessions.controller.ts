import { registrationRpc } from '@fairlead/contracts';
import { Controller } from '@nestjs/common';
import { Asked, Serve, type Call } from '../http/serve.js';
import { Backend } from './backend.js';

/** What goes through the doors. */
@Controller()
export class SessionsController {
  constructor(private readonly backend: Backend) {}

  @Serve('listSessions')
  async list(@Asked() { tenantId, principal, query }: Call<'listSessions'>) {
    // Whoever is no administrator is told of nobody else, whatever they ask for.
    const filter = principal.administrator ? query : { ...query, user: principal.user };
    const { passages, ...rest } = await this.backend.read(registrationRpc.listPassages, tenantId, filter);
    return { sessions: passages, ...rest };
  }

  @Serve('endSessions')
  end(@Asked() { tenantId, actor: by, body }: Call<'endSessions'>) {
    return this.backend.write(registrationRpc.endPassages, tenantId, { ...body, by });
  }
}
