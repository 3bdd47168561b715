import type { Caller } from '@fairlead/contracts';
import { operatorOf } from '@fairlead/events';
import type { StoredSubscriber } from '../store/subscribers.js';

/** Which subscriber an administrator means, and who that is. */
export interface Asked {
  readonly caller: Caller;
  readonly tenantId: string;
  readonly name: string;
  readonly by: string;
}

/** In every event about what an administrator did to a subscriber. */
export type AboutSubscriber = ReturnType<typeof aboutSubscriber>;

export function aboutSubscriber({ caller, by }: Pick<Asked, 'caller' | 'by'>, row: StoredSubscriber) {
  const { id: subscriberId, tenantId, name, kind } = row;
  const subject = `subscriber/${subscriberId}`;
  return { tenantId, subject, actor: operatorOf(caller, by), reason: 'OK', subscriberId, name, kind };
}
