/*
 * Certificate requests that this repository's own code does not make, made once with OpenSSL 3.0 (`req -new -outform DER`),
 * in base64. Their private keys are gone: a certificate is worth nothing to whoever cannot prove its key.
 */

/**
 * A good key, and every wish there is: O=system:masters, OU=generation:4294967, CN=*; CA:TRUE with keyCertSign; the SPIFFE
 * ids of gateway-a and of the cluster 11111111-…; DNS:*, localhost, 127.0.0.1 and a mail address; server authentication and code signing.
 */
export const WILD_REQUEST = [
  'MIICEDCCAbYCAQAwQjEXMBUGA1UECgwOc3lzdGVtOm1hc3RlcnMxGzAZBgNVBAsMEmdlbmVyYXRpb246NDI5NDk2NzEKMAgGA1UEAwwBKjBZMB',
  'MGByqGSM49AgEGCCqGSM49AwEHA0IABLhLgX4o1nbKnLslqg3MeZ8L55m+3G6GlAHfeHf9h4WzzaRjj+fXMs7bcTEHk3u10HNeORrm0MyDHjzq',
  'RPWunNegggEQMIIBDAYJKoZIhvcNAQkOMYH+MIH7MBIGA1UdEwEB/wQIMAYBAf8CAQkwDgYDVR0PAQH/BAQDAgGGMCcGA1UdJQQgMB4GCCsGAQ',
  'UFBwMBBggrBgEFBQcDAgYIKwYBBQUHAwMwgasGA1UdEQSBozCBoIYpc3BpZmZlOi8vZmFpcmxlYWQubG9jYWwvZ2F0ZXdheS9nYXRld2F5LWGG',
  'SnNwaWZmZTovL2ZhaXJsZWFkLmxvY2FsL2NsdXN0ZXIvMTExMTExMTEtMTExMS00MTExLTgxMTEtMTExMTExMTExMTExL2FnZW50ggEqgglsb2',
  'NhbGhvc3SHBH8AAAGBE3Jvb3RAZmFpcmxlYWQubG9jYWwwCgYIKoZIzj0EAwIDSAAwRQIgdWQf4iGScDV3ZcDJBuwviKCZcK2b5sAyDERP3eT2',
  'xisCIQCia28HGjwBAGVU8z/MpCI86KcldQ/FEEe61xDERb7cCA==',
].join('');

/** Keys and hashes that no certificate is made for. Each proves possession of its key as it should. */
export const WEAK_REQUESTS = {
  'RSA 1024': [
    'MIIBSzCBtQIBADAMMQowCAYDVQQDDAF4MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCsg4fUk3d5BSnIPtYmGIk22ueNHr0Fmr1QM1HEi1',
    'dZwdCiAbfc/3f7iBSOWtZSEJ7gIFRGmgVCb4uGZ9murACSxIeLYts/RpVSX/+TMAloL93a0tfR7pbrwLiOhFPrQJYStIG6E8UNdE7+bNOFnX3y',
    '/iawKitMKb+TJTqDSVNwmQIDAQABoAAwDQYJKoZIhvcNAQELBQADgYEADZTydMazBbNSKfJfIQxCgguQ81nDe9Pp7BPOuhWhvqPJq4xg7WrZgq',
    '8Oo+ioEHwbtPDTQuWe5vhNGhbi+dt2t/b1gMfjg1Pp6ZCtUI2DERT9Cg0lPjIg3c672qooaTO6QNx2KqWCC3+ix8vDQRNJtZcBcfRihtptt/19',
    'MDMYBj8=',
  ].join(''),
  'RSA 2048': [
    'MIICUTCCATkCAQAwDDEKMAgGA1UEAwwBeDCCASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoCggEBALRbQVSM8C8SjA6VocSJCutzh8l6iZT7cc',
    'dPGEu1bW/eln/S+/y0S72kZC7/7IkEjbSm5ryiNceiBQH5/ZbJaZpx2356bfZUmrZiLJUmqr5sH5kwSM4zOYhpIQlixUtM62YUiq/FfliRrorD',
    'N8bSAdMlICFDaHb4vSfevzu2reuZEWqAZLTWgVTBcIsgvISHxdKDGW2xjm5TEAC36DTtqJrQMIcZYdJujCMB+SDcnOD1rWq9eTNmRRu2zscKuD',
    'zzH5ug4HE33MkPJX9MbKND+z2sn8ibBQdtNqKAYGpcL0HQBtmCZrG456VmhkY5wEUe/XKmrgG6CmwdIylU3vKlx08CAwEAAaAAMA0GCSqGSIb3',
    'DQEBCwUAA4IBAQB1MCwDkLbMh8K2AuXAJxgozjorC+S9wGDwc0TrXLOF5souwnHs6WUvNUwn+efqvydYmVTsTAEzT4wBveOdIMUZh0wNDxWPXs',
    '72MAqSTmWniqL5HyCkbFmM0nLJn5rteWoTg3Du9S0d4omIZDOHKaI/iAR1mkHoT1mTEAQtrzabOmHuDydklsIxwM8K5RPGpzsRs97V/RhYnMXn',
    'iWg6DMkv4EUomP3QAYsI4aNTS6XNvW+bogDQvEpay3iAeekvH3iM9eaCjwpC+90lnuOBRh46OK+tW+1IuaghzvArM0600NQAMptE4aZ2srWQCW',
    'EkUnRsKUXYK85qUfZHr+wjzWQk',
  ].join(''),
  'P-224': [
    'MIGyMGMCAQAwDDEKMAgGA1UEAwwBeDBOMBAGByqGSM49AgEGBSuBBAAhAzoABCM3PtHsXrg+H7/bOTkQv0+ykZhh5TYgh7KW/AvhhB9KjwfhEA',
    '1kYOfbdslnfvDJ1LjzJOLk9vMLoAAwCgYIKoZIzj0EAwIDPwAwPAIcQR+Ofh+XYW6tkFwiuPK80K1XkCju1cabr2JO0QIcH+vqWy+CrK6geqru',
    'e7aiHdyeJZNwkArNW03inA==',
  ].join(''),
  secp256k1: [
    'MIHEMGsCAQAwDDEKMAgGA1UEAwwBeDBWMBAGByqGSM49AgEGBSuBBAAKA0IABBCbxQYJf0U6xmT9Oa/pkbPfXQhbwlu94VD+dPtY6Uw5E/9P9N',
    'g8LBu7MGHCuA3ZveJQhNR5POG1bYle1S7YS+2gADAKBggqhkjOPQQDAgNJADBGAiEAuKmNJEKZarQFs34idrS0p2q5gETFilClPl/Cg6qwOe4C',
    'IQCNraGznBG7B4jAL3w0+W4v8tyw2bUUrgmBxqLAZyTH3Q==',
  ].join(''),
  'P-384': [
    'MIIBAzCBiwIBADAMMQowCAYDVQQDDAF4MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEqlxW8IFf+ozEol55WCgLYd6Zdd+vy+3j+ZOGTGBK3JpaUL',
    'bBEI4TEk4xyyeUoguIuZ9eY9RulQsIx2S413Y05/egNuVWv54KaaMgv0vDhQ8P/Li+E0KCfTybKP247BX7oAAwCgYIKoZIzj0EAwIDZwAwZAIw',
    'TSqO/7ONe18ZDuVeBcrlWtEFJykxdVltdf8UMmXWdoLH3qHk/ZczjHRSUztEJtBvAjA+r3sNF208R2HF3lgQCj7Legq+2J3VumtCPMbFORyZQ+',
    '/ZGyUn1Udf+IBzuhrO4ak=',
  ].join(''),
  Ed25519: [
    'MIGLMD8CAQAwDDEKMAgGA1UEAwwBeDAqMAUGAytlcAMhAP/MEeSePPEUP6iFwY16EoWNlFgx9xD9odeeF3OfsSQcoAAwBQYDK2VwA0EAdTLtx7',
    'TqQiOA0eXQ0cJbNADAAEO38SO0elhe+kNXo2Sw/xxjaca/6RAkJSU2nnmWuZXy+R54YH6FuI5d31ZnDg==',
  ].join(''),
  'P-256 with SHA-1': [
    'MIHFMG4CAQAwDDEKMAgGA1UEAwwBeDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABLhLgX4o1nbKnLslqg3MeZ8L55m+3G6GlAHfeHf9h4Wzza',
    'Rjj+fXMs7bcTEHk3u10HNeORrm0MyDHjzqRPWunNegADAJBgcqhkjOPQQBA0gAMEUCIQCTxVARvJCNj3be7uYa443qr27YuftQzLLU5rylu3d5',
    'SgIgIndNgCy0OPSwW32sbMz2IUhr44uWBtyUg6UMgyir0dg=',
  ].join(''),
} as const;
