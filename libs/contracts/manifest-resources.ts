import { z } from 'zod';

/** What the agent asks for and may use, unless a cluster's manifest values say otherwise. */
export const AGENT_RESOURCES = {
  requests: { cpu: '50m', memory: '128Mi' },
  limits: { memory: '512Mi' },
} as const;

const UNITS = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
} as const;
/** With less it does not start. */
const LEAST_MEMORY = 96 * UNITS.Mi;
const MOST_MEMORY = 64 * UNITS.Gi;
const MOST_CPU = 64;

/** YAML has a number where no unit is written. */
const Quantity = z.coerce.string();
const CPU = 'write cores as 500m or 0.5, up to 64';
const Cpu = Quantity.refine((text) => cores(text) > 0 && cores(text) <= MOST_CPU, CPU);
const MEMORY = 'write bytes as 256Mi or 1Gi, 96Mi to 64Gi';
const Memory = Quantity.refine((text) => bytes(text) >= LEAST_MEMORY && bytes(text) <= MOST_MEMORY, MEMORY);

export const Quantities = z.strictObject({ cpu: Cpu.optional(), memory: Memory.optional() });

type Asked = z.infer<typeof Quantities>;

/** As core/v1 has it, of CPU and memory. Each one that is left out is as in AGENT_RESOURCES. */
export const Resources = z
  .strictObject({ requests: Quantities.optional(), limits: Quantities.optional() })
  .superRefine(({ requests, limits }, context) => {
    const asked: Asked = { ...AGENT_RESOURCES.requests, ...requests };
    const most: Asked = { ...AGENT_RESOURCES.limits, ...limits };
    const tooMuch = (name: 'cpu' | 'memory', measure: (text: string) => number): void => {
      const [request, limit] = [asked[name], most[name]];
      // One that is no quantity was complained of already.
      if (request === undefined || limit === undefined || !(measure(request) > measure(limit))) return;
      const message = `a request may not be above its limit: ${request} is above ${limit}; say both`;
      context.addIssue({ code: 'custom', path: ['requests', name], message });
    };
    tooMuch('cpu', cores);
    tooMuch('memory', bytes);
  });

/** NaN if it is no quantity of CPU. */
function cores(text: string): number {
  const [, amount, milli] = /^(\d{1,5}(?:\.\d{1,3})?)(m?)$/.exec(text) ?? [];
  return amount === undefined ? Number.NaN : Number(amount) / (milli ? 1_000 : 1);
}

/** NaN if it is no quantity of memory. */
function bytes(text: string): number {
  const [, amount, unit = ''] = /^(\d{1,12})(k|M|G|Ki|Mi|Gi)?$/.exec(text) ?? [];
  return amount === undefined ? Number.NaN : Number(amount) * UNITS[unit as keyof typeof UNITS];
}
