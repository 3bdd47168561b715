import type { Principal } from '@fairlead/contracts';
import { Controller } from '@nestjs/common';
import { operations } from '../contract/operations.js';
import { CurrentPrincipal, Serve } from '../http/serve.js';

@Controller()
export class SessionController {
  @Serve(operations.whoami)
  whoami(@CurrentPrincipal() principal: Principal): Principal {
    return principal;
  }
}
