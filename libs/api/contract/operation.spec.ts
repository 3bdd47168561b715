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

it('lets whoever changes what they have read say what that was, where there is anything to lose', () => {
  const blind = ALL_OPERATIONS.filter(({ method, conditional }) => /^(PUT|PATCH)$/.test(method) && !conditional);
  expect(blind.map(({ id }) => id).sort()).toEqual([
    // One word, or a reason, that is all there is; and a file that its digest names.
    'lockDown',
    'lockDownCluster',
    'setApprovalPolicy',
    'setClusterApprovalPolicy',
    'uploadBundle',
  ]);
  const shown = new Set(ALL_OPERATIONS.filter(({ etag }) => etag).map(({ path }) => path));
  for (const { path } of ALL_OPERATIONS.filter(({ conditional }) => conditional)) {
    const read = [path, path.replace(/\/quotas$/, ''), path.replace(/\/\{\w+\}$/, '')];
    expect([path, read.some((each) => shown.has(each))]).toEqual([path, true]);
  }
});
