import { withAdvisoryLock } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';

const DAY_MS = 86_400_000;
const NAME = /^entries_(\d{4})(\d{2})(\d{2})$/;

/** Makes those of the day of `from` and of the days after it that are not there yet. */
export async function makePartitions(manager: EntityManager, from: Date, days: number): Promise<void> {
  await withAdvisoryLock(manager, 'partitions');
  const known = new Set(await partitionNames(manager));
  for (let ahead = 0; ahead < days; ahead += 1) {
    const start = new Date(startOfDay(from).getTime() + ahead * DAY_MS);
    const end = new Date(start.getTime() + DAY_MS);
    if (known.has(nameOf(start))) continue;
    // Names and bounds are of our making; a statement like this takes no parameters.
    await manager.query(
      `create table ${nameOf(start)} partition of entries for values from ('${start.toISOString()}') to ('${end.toISOString()}')`,
    );
  }
}

/** Drops those whose day was over before `before`. Returns their days. */
export async function dropPartitions(manager: EntityManager, before: Date): Promise<string[]> {
  await withAdvisoryLock(manager, 'partitions');
  const over = (await partitionNames(manager)).filter((name) => endOf(name).getTime() <= before.getTime());
  for (const name of over) await manager.query(`drop table ${name}`);
  return over.map((name) => name.replace(NAME, '$1-$2-$3'));
}

async function partitionNames(manager: EntityManager): Promise<string[]> {
  const rows = (await manager.query(
    `select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
      where inhparent = 'entries'::regclass`,
  )) as { name: string }[];
  return rows.map(({ name }) => name).filter((name) => NAME.test(name));
}

function startOfDay(time: Date): Date {
  return new Date(Math.floor(time.getTime() / DAY_MS) * DAY_MS);
}

function nameOf(start: Date): string {
  return `entries_${start.toISOString().slice(0, 10).replaceAll('-', '')}`;
}

function endOf(name: string): Date {
  return new Date(Date.parse(`${name.replace(NAME, '$1-$2-$3')}T00:00:00Z`) + DAY_MS);
}
