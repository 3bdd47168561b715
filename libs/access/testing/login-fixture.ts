import { randomBytes } from 'node:crypto';
import { Issuer } from '@fairlead/contracts';
import { silentLogger } from '@fairlead/observability';
import { connectDatabase, createDatabase, databaseUrl, provisionDatabase, runMigrations } from '@fairlead/persistence';
import { startPostgres } from '@fairlead/testbed';
import { scratchDir } from '@fairlead/testing';
import { OUTBOX_TABLE_V1, OutboxRow } from '@fairlead/events';
