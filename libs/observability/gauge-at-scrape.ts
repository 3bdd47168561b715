import { Gauge, type Registry } from 'prom-client';

export interface ScrapedGauge<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly Label[];
}

/** A gauge that `read` sets each time somebody scrapes; it sets nothing of what is not known. */
export function gaugeAtScrape<Label extends string = string>(
  registry: Registry,
  about: ScrapedGauge<Label>,
  read: (gauge: Gauge<Label>) => void,
): void {
  const { labelNames = [], ...named } = about;
  const gauge: Gauge<Label> = new Gauge<Label>({
    ...named,
    labelNames: [...labelNames],
    registers: [registry],
    collect: () => read(gauge),
  });
}
