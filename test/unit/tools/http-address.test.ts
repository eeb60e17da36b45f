import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { isPublicAddress } from '../../../src/tools/http/public-address.ts';

/** What the registries of special-purpose addresses call not global, with multicast and what is not given out. */
const CLOSED_V4 = {
  'this network': ['0.0.0.0', 8],
  'private 10': ['10.0.0.0', 8],
  'carrier-grade NAT': ['100.64.0.0', 10],
  loopback: ['127.0.0.0', 8],
  'link-local': ['169.254.0.0', 16],
  'private 172': ['172.16.0.0', 12],
  'protocol assignments': ['192.0.0.0', 24],
  'documentation 1': ['192.0.2.0', 24],
  'private 192': ['192.168.0.0', 16],
  benchmarking: ['198.18.0.0', 15],
  'documentation 2': ['198.51.100.0', 24],
  'documentation 3': ['203.0.113.0', 24],
  multicast: ['224.0.0.0', 4],
  reserved: ['240.0.0.0', 4],
} as const;

const CLOSED_V6 = {
  'unspecified, loopback and IPv4-compatible': ['0:0:0:0:0:0:0:0', 96],
  'IPv4-mapped': ['0:0:0:0:0:ffff:0:0', 96],
  'IPv4-translated': ['64:ff9b:0:0:0:0:0:0', 96],
  'local IPv4-translated': ['64:ff9b:1:0:0:0:0:0', 48],
  'discard-only': ['100:0:0:0:0:0:0:0', 64],
  'protocol assignments and Teredo': ['2001:0:0:0:0:0:0:0', 23],
  documentation: ['2001:db8:0:0:0:0:0:0', 32],
  '6to4': ['2002:0:0:0:0:0:0:0', 16],
  'newer documentation': ['3fff:0:0:0:0:0:0:0', 20],
  'segment routing': ['5f00:0:0:0:0:0:0:0', 16],
  'unique-local': ['fc00:0:0:0:0:0:0:0', 7],
  'link-local': ['fe80:0:0:0:0:0:0:0', 10],
  'site-local': ['fec0:0:0:0:0:0:0:0', 10],
  multicast: ['ff00:0:0:0:0:0:0:0', 8],
} as const;

type Block = readonly [string, number];

const bitsOf = (text: string): bigint => {
  const v4 = text.includes('.');
  const parts = text.split(v4 ? '.' : ':').map((part) => BigInt(v4 ? part : `0x${part}`));
  return parts.reduce((sum, part) => (sum << (v4 ? 8n : 16n)) | part, 0n);
};

function spellV4(bits: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 0xffn).join('.');
}

function spellV6(bits: bigint): string {
  const shifts = [112n, 96n, 80n, 64n, 48n, 32n, 16n, 0n];
  return shifts.map((shift) => ((bits >> shift) & 0xffffn).toString(16)).join(':');
}

const within = (bits: bigint, [network, prefix]: Block, width: number): boolean => {
  const host = BigInt(width - prefix);
  return bits >> host === bitsOf(network) >> host;
};

function addressIn([network, prefix]: Block, width: number): fc.Arbitrary<bigint> {
  const hosts = (1n << BigInt(width - prefix)) - 1n;
  // Both ends of a block are where a wrong prefix shows.
  return fc
    .oneof(fc.constant(0n), fc.constant(hosts), fc.bigInt({ min: 0n, max: hosts }))
    .map((host) => bitsOf(network) | host);
}

/** How often each law saw each class. */
const seen: Record<string, Record<string, number>> = {};
function count(law: string, what: string): void {
  const classes = seen[law] ?? {};
  seen[law] = { ...classes, [what]: (classes[what] ?? 0) + 1 };
}

function closedIn(blocks: Readonly<Record<string, Block>>, width: number, spell: (bits: bigint) => string) {
  return Object.entries(blocks).map(([name, block]) =>
    addressIn(block, width).map((bits) => ({ name: `v${width === 32 ? 4 : 6} ${name}`, text: spell(bits) })),
  );
}

describe('which addresses are public', () => {
  afterAll(() => {
    console.info(`addresses drawn: ${JSON.stringify(seen)}`);
    for (const classes of Object.values(seen)) {
      const drawn = Object.values(classes).reduce((sum, times) => sum + times, 0);
      for (const [what, times] of Object.entries(classes)) expect(times / drawn, what).toBeGreaterThan(0.01);
    }
  });

  it('no private, loopback, link-local, shared, multicast, unspecified or tunnelled address passes', () => {
    const closed = [...closedIn(CLOSED_V4, 32, spellV4), ...closedIn(CLOSED_V6, 128, spellV6)];
    fc.assert(
      fc.property(fc.oneof(...closed), ({ name, text }) => {
        count('closed', name);
        expect(isPublicAddress(text), text).toBe(false);
      }),
      { numRuns: 6_000 },
    );
  });

  it('no spelling of a closed IPv4 address inside an IPv6 one passes', () => {
    const inside = fc.oneof(...Object.values(CLOSED_V4).map((block) => addressIn(block, 32)));
    const spelled = fc.constantFrom<readonly [string, (v4: bigint) => string]>(
      ['mapped', (v4) => `::ffff:${spellV4(v4)}`],
      ['compatible', (v4) => `::${spellV4(v4)}`],
      ['mapped in hex', (v4) => spellV6((0xffffn << 32n) | v4)],
      ['translated', (v4) => spellV6((0x64ff9bn << 96n) | v4)],
      ['6to4', (v4) => spellV6((0x2002n << 112n) | (v4 << 80n))],
      ['Teredo', (v4) => spellV6((0x20010000n << 96n) | (v4 ^ 0xffffffffn))],
    );
    fc.assert(
      fc.property(inside, spelled, (bits, [spelling, spell]) => {
        count('inside IPv6', spelling);
        expect(isPublicAddress(spell(bits)), spell(bits)).toBe(false);
      }),
      { numRuns: 3_000 },
    );
  });

  it('every other address of IPv4, and of what is given out of IPv6, passes', () => {
    const unlisted: readonly Block[] = [
      ['192.88.99.0', 24],
      ['168.63.129.16', 32],
    ];
    const global6 = fc.oneof(
      addressIn(['2000:0:0:0:0:0:0:0', 3], 128),
      addressIn(['2001:0:0:0:0:0:0:0', 16], 128),
      addressIn(CLOSED_V6.documentation, 128),
    );
    const any4 = fc.bigInt({ min: 0n, max: (1n << 32n) - 1n });
    const closed4 = [...Object.values(CLOSED_V4), ...unlisted];
    fc.assert(
      fc.property(any4, (bits) => {
        const closed = closed4.some((block) => within(bits, block, 32));
        count('any IPv4', closed ? 'closed' : 'open');
        expect(isPublicAddress(spellV4(bits)), spellV4(bits)).toBe(!closed);
      }),
      { numRuns: 3_000 },
    );
    fc.assert(
      fc.property(global6, (bits) => {
        const closed = Object.values(CLOSED_V6).some((block) => within(bits, block, 128));
        count('global IPv6', closed ? 'closed' : 'open');
        expect(isPublicAddress(spellV6(bits)), spellV6(bits)).toBe(!closed);
      }),
      { numRuns: 3_000 },
    );
  });

  it.each(['1.1.1.1', '9.9.9.9', '172.15.255.255', '172.32.0.0', '2606:4700:4700::1111', '2a00:1450::1'])(
    'lets %s pass',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  it.each(['', 'localhost', '1.1.1', '0x7f.1', '010.0.0.1', '1.1.1.1 ', 'fe80::1%eth0', '2606:4700::1%1'])(
    'takes %j for no public address',
    (text) => {
      expect(isPublicAddress(text)).toBe(false);
    },
  );

  it('closes the address that a cloud answers from inside its hosts', () => {
    expect(isPublicAddress('168.63.129.16')).toBe(false);
    expect(isPublicAddress('168.63.129.17')).toBe(true);
  });
});
