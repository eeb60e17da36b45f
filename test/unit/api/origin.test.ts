import { describe, expect, it } from 'vitest';
import { boardRefusal } from '../../../src/board/origin.ts';

describe('where a request to the board may come from', () => {
  it.each([
    ['GET', { host: 'board.example' }, false],
    ['GET', { host: 'localhost:4080' }, true],
    ['GET', { host: '127.0.0.1:4080' }, true],
    ['GET', { host: '[::1]:4080' }, true],
    ['PUT', { host: 'localhost', 'sec-fetch-site': 'same-origin' }, true],
    ['PUT', { host: 'localhost:1', origin: 'http://localhost:1' }, true],
    ['PUT', { host: 'b.example', origin: 'https://b.example', 'sec-fetch-site': 'same-origin' }, false],
  ] as const)('lets %s %j through (loopback: %j)', (method, headers, loopback) => {
    expect(boardRefusal(method, headers, loopback)).toBeNull();
  });

  it.each([
    ['GET', { host: 'rebound.example' }, true],
    ['GET', {}, true],
    ['GET', { host: 'localhost.evil.example' }, true],
    ['PUT', { host: 'localhost' }, true],
    ['POST', { host: 'b.example', origin: 'https://evil.example' }, false],
    ['POST', { host: 'b.example', origin: 'null' }, false],
    ['POST', { host: 'b.example', origin: 'https://b.example', 'sec-fetch-site': 'cross-site' }, false],
    ['POST', { host: 'b.example:1', origin: 'https://b.example:2' }, false],
    ['DELETE', { host: 'b.example', 'sec-fetch-site': 'none' }, false],
    ['PATCH', { origin: 'http://' }, false],
  ] as const)('refuses %s %j and says why (loopback: %j)', (method, headers, loopback) => {
    expect(boardRefusal(method, headers, loopback)).toMatch(/localhost|same-origin/u);
  });
});
