import { Controller } from '@nestjs/common';
import { Asked, Serve, type Call } from '../http/serve.js';

@Controller()
export class SessionController {
  @Serve('whoami')
  whoami(@Asked() { principal }: Call<'whoami'>) {
    return principal;
  }
}
