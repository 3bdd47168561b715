import { expect, it } from 'vitest';
import { allowedMethods, routerPath } from './operation.js';
import { ALL_OPERATIONS, operations } from './operations.js';

it('knows which methods a path serves', () => {
  expect(allowedMethods(ALL_OPERATIONS, '/v1/clusters')).toEqual(['POST', 'GET']);
  expect(allowedMethods(ALL_OPERATIONS, '/v1/clusters/demo')).toEqual(['GET', 'PATCH', 'DELETE']);
  expect(allowedMethods(ALL_OPERATIONS, '/v1/clusters/')).toEqual([]);
  expect(allowedMethods(ALL_OPERATIONS, '/v1/clusters/a/b')).toEqual([]);
});

it('writes parameters as the router does', () => {
  expect(routerPath(operations.createImportLink)).toBe('/v1/clusters/:name/import-links');
});
