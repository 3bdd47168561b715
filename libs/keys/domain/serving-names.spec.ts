import { expect, it } from 'vitest';
import { overlapOf } from './serving-names.js';

it.each([
  ['the admin API is below the domain of clusters', ['api.c.example'], ['gw.example', '*.c.example']],
  ['a door is below a wildcard of the admin API', ['*.example'], ['gw.example']],
])('says so where %s', (_case, api, gateway) => {
  expect(overlapOf({ api, gateway })).toMatch(/^\*\.\S+ of FAIRLEAD_\w+ holds for \S+ of FAIRLEAD_\w+, too$/);
});

it.each([
  ['names apart', ['api.example'], ['gw.example', '*.c.example']],
  ['two labels below: a wildcard stands for one', ['api.eu.c.example'], ['*.c.example']],
  ['the domain itself', ['c.example'], ['*.c.example']],
  ['one name in both lists, on purpose', ['localhost'], ['localhost']],
])('finds nothing: %s', (_case, api, gateway) => {
  expect(overlapOf({ api, gateway })).toBeNull();
});
