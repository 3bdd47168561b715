import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Ownership } from './ownership.js';
import { parseSshPublicKey, readClusterKey } from './ssh-public-key.js';
import { newPublicKey } from './testing/keys.js';

// From the answers shown on docs.gitlab.com/api/deploy_keys, which give both key and fingerprint.
const KNOWN = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILkYXU2fVeO4/0rDCSsswP5iIX2+B6tv15YT3KObgyDl';
const KNOWN_FINGERPRINT = 'SHA256:Ojq2LZW43BFK/AMP81jBkDGn9YpPWYRNcViKBB44LPU';

describe('a public key of SSH', () => {
  it('has the fingerprint that others give it, whatever its comment', () => {
    for (const line of [KNOWN, `${KNOWN} Key`, `${KNOWN} a b c (host)`, `${KNOWN}\n`])
      expect(parseSshPublicKey(line)).toEqual({ type: 'ssh-ed25519', text: KNOWN, fingerprint: KNOWN_FINGERPRINT });
  });

  it('has one spelling only', () => {
    const [type, base64] = KNOWN.split(' ') as [string, string];
    const others = [
      `${type} ${base64}=`,
      `${type}  ${base64}`,
      `ssh-rsa ${base64}`,
      `${KNOWN}\n${KNOWN}`,
      `no-pty ${KNOWN}`,
      base64,
    ];
    for (const other of [...others, `${type} ${base64.replace('/', '_')}`, '', 'ssh-ed25519', `${type} AAAA`])
      expect(parseSshPublicKey(other)).toBeNull();
  });

  it('reads nothing twice in two ways', () => {
    fc.assert(
      fc.property(fc.base64String({ maxLength: 60 }), (base64) => {
        const key = parseSshPublicKey(`ssh-ed25519 AAAAC3NzaC1lZDI1NTE5${base64}`);
        expect(key && parseSshPublicKey(key.text)).toEqual(key);
      }),
    );
  });

  it("of a cluster is ed25519, of ed25519's length", () => {
    expect(readClusterKey(KNOWN).text).toBe(KNOWN);
    expect(readClusterKey(newPublicKey()).type).toBe('ssh-ed25519');
    const rsa = Buffer.concat([Buffer.from([0, 0, 0, 7]), Buffer.from('ssh-rsa')]).toString('base64');
    for (const line of [`ssh-rsa ${rsa}`, `${KNOWN}AAAA`, KNOWN.slice(0, -4), `ssh-ed25519 ${rsa}`])
      expect(() => readClusterKey(line)).toThrow('ssh-ed25519');
  });
});

describe('whose key it is', () => {
  it('stands in its title', () => {
    const [one, two] = [new Ownership('one'), new Ownership('one-2')];
    expect(one.titleOf('eu/demo-1')).toBe('fairlead:one:eu/demo-1');
    expect(one.isOurs('fairlead:one:eu/demo-1')).toBe(true);
    expect(two.isOurs('fairlead:one:eu/demo-1')).toBe(false);
    for (const title of [
      'fairlead:one-2:demo',
      'fairlead:one:',
      'fairlead:one:a:b',
      'xfairlead:one:demo',
      'FAIRLEAD:one:demo',
      '',
    ])
      expect(one.isOurs(title)).toBe(false);
  });
});
