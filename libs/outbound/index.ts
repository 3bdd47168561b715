/** Requests to addresses that others name, without a way into networks that only this process reaches. */
export { AddressRanges } from './address-ranges.js';
export { checkUrl, mayDial, type OutboundRules } from './outbound-rules.js';
export { checkedLookup } from './checked-lookup.js';
export { OutboundPosts, type OutboundPostsOptions, type Posted } from './outbound-posts.js';
