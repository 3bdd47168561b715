import { AddressLimiter } from './address-limiter.js';

/** How often an address may log in, renew, or ask where to: good or bad, since a bad token costs as much to look at. */
export class LoginAttempts extends AddressLimiter {}
