export { createLogger, silentLogger, type LogFields, type Logger } from './logger.js';
export { startHealthServer, type Check, type HealthServer, type HealthServerOptions } from './health-server.js';
export { Counter, Gauge, Histogram, Registry, type GaugeConfiguration } from 'prom-client';
export { LiveCounter, type LiveCounterOptions } from './live-counter.js';
