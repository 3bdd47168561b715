import 'reflect-metadata';
import { runProcess } from '@fairlead/config';
import { readConfig } from './config.js';
import { migrate } from './database.js';
import { importCommand, issuingCsrCommand, raiseTrustCommand } from './import-ca.js';
import { serve } from './serve.js';

const commands = {
  migrate,
  'import-ca': importCommand,
  'issuing-csr': issuingCsrCommand,
  'raise-trust': raiseTrustCommand,
};
void runProcess({ name: 'keys', readConfig, run: serve, commands });
