export { Secret, commaList, hostPort, loadConfig, port, printable, secretFile } from './load-config.js';
