import { parseEgressPort } from '@fairlead/agent';
import { EgressPort, EgressPorts } from '@fairlead/contracts';
import { expect, it } from 'vitest';

it.each([
  '2222=git.example.com:22',
  '1024=git:1',
  '65535=10.0.0.1:65535',
  '9000=[fd00::1]:22',
  '2222=a_b.c-d.example:22',
])('what registration takes for a way out, %s, the agent reads', (text) => {
  expect(EgressPort.safeParse(text).success).toBe(true);
  expect(parseEgressPort(text).port).toBe(Number(text.split('=')[0]));
});

it.each([
  '22=git.example.com:22',
  '1023=git:22',
  '65536=git:22',
  '8080=git:22',
  '2222=git',
  '2222=git:0',
  '2222=git:65536',
  '2222=0x7f.1:22',
  '2222=127.1:22',
  '2222=git:22,2223=git:22',
  '2222=Git:22',
  ' 2222=git:22',
])('%s is refused before it is in a manifest', (text) => {
  expect(EgressPort.safeParse(text).success).toBe(false);
});

it('a port leads to one place', () => {
  expect(EgressPorts.safeParse(['2222=a:22', '2223=a:22']).success).toBe(true);
  expect(EgressPorts.safeParse(['2222=a:22', '2222=b:22']).success).toBe(false);
});
