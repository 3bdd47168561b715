import { registrationRpc, type OpenPassage, type PassageFilter } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { pageByPlace, placeSince } from './page-by-place.js';
import { Script } from './script.js';

type R = typeof registrationRpc;

/** Registration, as far as it is about what goes through the doors. */
@Controller()
export class PassagesScript {
  constructor(private readonly script: Script) {}

  @RpcHandler(registrationRpc.listPassages)
  async listPassages({ input }: RpcRequest<R['listPassages']>): RpcResult<R['listPassages']> {
    const meant = this.#meant(input);
    const place = ({ since, id }: OpenPassage): string => placeSince(since, id);
    const { items: passages, ...next } = pageByPlace(this.script, meant, input.after, place);
    const last = passages.at(-1);
    const more = last ? meant.length - 1 - meant.indexOf(last) : 0;
    return { passages, more, ...next, silent: [...this.script.silentGateways] };
  }

  @RpcHandler(registrationRpc.endPassages)
  async endPassages({ input }: RpcRequest<R['endPassages']>): RpcResult<R['endPassages']> {
    const { passages, passagesEnded, silentGateways } = this.script;
    passagesEnded.push(input);
    const meant = this.#meant(input);
    for (const each of meant) passages.splice(passages.indexOf(each), 1);
    return { ended: meant.length, silent: [...silentGateways] };
  }

  #meant({ id, cluster, user, kind }: PassageFilter) {
    return this.script.passages.filter(
      (each) =>
        (id ?? each.id) === each.id &&
        (cluster ?? each.cluster) === each.cluster &&
        (user ?? each.user) === each.user &&
        (kind ?? each.kind) === each.kind,
    );
  }
}
