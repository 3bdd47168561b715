import { expect, it } from 'vitest';
import { ReceiveWindow } from './windows.js';

it('gives nothing back until a quarter is free, and then all of it', () => {
  const window = new ReceiveWindow(1000);
  expect(window.received(600)).toBe(true);
  expect(window.taken(249)).toBe(0);
  expect(window.taken(1)).toBe(250);
  expect(window.heldBytes).toBe(350);
});

it('tells who sent more than was given', () => {
  const window = new ReceiveWindow(1000);
  expect(window.received(1000)).toBe(true);
  expect(window.received(1)).toBe(false);
});

it('bears what a peer sends that does not know the window yet, once', () => {
  const window = new ReceiveWindow(1000, 64_535);
  expect(window.received(65_535)).toBe(true);
  // Its window is 64,535 below zero, and is at zero once as much was taken.
  expect(window.taken(64_535)).toBe(64_535);
  expect(window.taken(250)).toBe(250);
  expect(window.received(251 + 64_535)).toBe(false);
});

it('opens at once when it grows', () => {
  const window = new ReceiveWindow(1000);
  window.received(400);
  expect(window.resize(5000)).toBe(4000);
});

it('shrinks as it is used, and never takes back what was given', () => {
  const window = new ReceiveWindow(1000);
  expect(window.resize(100)).toBe(0);
  expect(window.received(1000)).toBe(true);
  expect(window.taken(950)).toBe(50);
});

it('never stays larger than 2^31-1', () => {
  const window = new ReceiveWindow(65_535);
  expect(window.resize(2 ** 40)).toBe(2 ** 31 - 1 - 65_535);
});

it('agrees with the peer about what is open, whatever happens', () => {
  let state = 7;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
  let target = 10_000;
  const window = new ReceiveWindow(target);
  let peerMay = target;
  let stalled = 0;
  let exceeded = 0;
  for (let step = 0; step < 20_000; step += 1) {
    const dice = random(10);
    if (dice === 0) {
      target = 1_000 + random(20_000);
      peerMay += window.resize(target);
    } else if (dice < 6) {
      const bytes = random(peerMay + 1);
      peerMay -= bytes;
      if (!window.received(bytes)) exceeded += 1;
    } else {
      peerMay += window.taken(random(window.heldBytes + 1));
    }
    // Once all is taken, most of the window is the peer's again.
    if (window.heldBytes === 0 && peerMay < (target * 3) / 4) stalled += 1;
  }
  expect({ stalled, exceeded }).toEqual({ stalled: 0, exceeded: 0 });
});
