import 'reflect-metadata';
import { systemClock } from '@fairlead/clock';
import type { RpcClient } from '@fairlead/messaging';
import { expect, it } from 'vitest';
import { ApiModule } from './api.module.js';
import { ALL_OPERATIONS } from './contract/operations.js';
import { ApiSettings } from './feature/settings.js';
import { OPERATION } from './http/serve.js';

it('routes exactly the operations that it describes', () => {
  const settings = new ApiSettings({ publicUrl: 'https://x', doors: [], connectDoors: [], readiness: () => [] });
  const { controllers = [] } = ApiModule.with({ client: {} as RpcClient, settings, clock: systemClock });
  const handlers = controllers.flatMap((controller) => {
    const { constructor: _class, ...methods } = Object.getOwnPropertyDescriptors(controller.prototype as object);
    return Object.values(methods).flatMap(({ value }) => (typeof value === 'function' ? [value as object] : []));
  });
  const routed = handlers.filter((handler) => Reflect.hasMetadata('path', handler));
  const operations = routed.map((handler) => Reflect.getMetadata(OPERATION, handler) as unknown);
  expect(operations).toHaveLength(ALL_OPERATIONS.length);
  expect(new Set(operations)).toEqual(new Set(ALL_OPERATIONS));
});
