import { describe, expect, it } from 'vitest';
import { sumFor } from './checksums.js';

const A = 'a'.repeat(64);
const B = 'b'.repeat(64);

describe('sumFor', () => {
  it('takes a bare sum, whatever the file', () => {
    expect(sumFor(`${A.toUpperCase()}\n`, 'kubectl')).toBe(A);
  });

  it('finds a file among the lines of sha256sum, text and binary', () => {
    const text = `${A}  etcd-linux.tar.gz\n${B} *etcd-darwin.zip\r\n`;
    expect(sumFor(text, 'etcd-linux.tar.gz')).toBe(A);
    expect(sumFor(text, 'etcd-darwin.zip')).toBe(B);
  });

  it('takes no other file for it', () => {
    expect(() => sumFor(`${A}  other-etcd.tar.gz\n`, 'etcd.tar.gz')).toThrow('0 sums for etcd.tar.gz');
    expect(() => sumFor('<html>not found</html>', 'etcd.tar.gz')).toThrow('0 sums');
    expect(() => sumFor('', 'etcd.tar.gz')).toThrow('0 sums');
  });

  it('refuses a file with two different sums', () => {
    expect(() => sumFor(`${A}  x\n${B}  x\n`, 'x')).toThrow('2 sums');
    expect(sumFor(`${A}  x\n${A}  ./x\n`, 'x')).toBe(A);
  });
});
